"""The worker of `command` tasks, real programs in the real sandbox: what counts, what refuses, what forges in vain."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway.adapters.command_worker import CommandWorker
from headway.adapters.local_executor import LocalExecutor
from headway.core.command_task import Setup
from headway.core.ports.worker import WorkerJob
from headway.core.reasons import Reason
from tests.adapters.command_tasks import METRIC, code_of, command_task, evaluated


def test_a_better_number_is_measured_against_the_baseline(tmp_path: Path) -> None:
    result = evaluated(command_task(tmp_path / "t"), tmp_path, size_txt="4\n")
    assert result.outcome == "measured" and result.samples[0].candidate == (4, 4) and result.samples[0].rival == (8, 8)
    assert [case.case for case in result.cases] == ["guard words", "metric"] and "no-network" in result.sandbox
    assert result.profile.startswith("metric 4, its rival 8")


def test_a_metric_that_grows_is_better_when_the_task_says_so(tmp_path: Path) -> None:
    result = evaluated(command_task(tmp_path / "t", direction="higher"), tmp_path, size_txt="16\n")
    (samples,) = result.samples
    assert samples.rival[0] / samples.candidate[0] == 2


@pytest.mark.parametrize(
    ("printed", "reason"),
    [
        ("", "metric_unreadable"),
        ("3 4", "metric_unreadable"),
        ("nan", "not_finite"),
        ("size 3", "metric_unreadable"),
        ("-3", "metric_unreadable"),
    ],
)
def test_a_metric_that_is_no_number_refuses(tmp_path: Path, printed: str, reason: str) -> None:
    assert code_of(evaluated(command_task(tmp_path / "t"), tmp_path, size_txt=f"{printed}\n")) == reason


def test_a_guard_refuses_with_its_own_reason_or_the_common_one(tmp_path: Path) -> None:
    task = command_task(tmp_path / "t")
    assert code_of(evaluated(task, tmp_path, size_txt="4\n", words_txt="gone\n")) == "guard_failed"
    words = '{"reason": "aliased", "message": "by another name", "next": "no"}'
    (tmp_path / "says.json").write_text(words)
    told = f'[[guards]]\nname = "says"\ncommand = ["sh", "-c", "cat {tmp_path}/says.json; exit 1"]\n'
    result = evaluated(command_task(tmp_path / "u", guards=told), tmp_path)
    assert result.refusal is not None
    assert (result.refusal.code, result.refusal.message) == ("aliased", "by another name")


def test_a_canary_that_its_guard_lets_through_refuses(tmp_path: Path) -> None:
    guards = '[[guards]]\nname = "own"\nrun = ["sh", "./check.sh"]\ncommand = ["test", "-e", "{out}/ok"]\n'
    canary = '[[canaries]]\nname = "melted"\nguard = "own"\npath = "frozen.txt"\nold = "ice"\nnew = "water"\n'
    files = {"check.sh": "grep -q ice frozen.txt && touch $HEADWAY_OUT/ok; exit 0\n"}
    task = command_task(tmp_path / "t", guards=guards + canary, files=files)
    assert code_of(evaluated(task, tmp_path, size_txt="4\n")) == "measured"
    assert code_of(evaluated(task, tmp_path, check_sh="touch $HEADWAY_OUT/ok\n")) == "test_weakened"


def test_a_protected_number_may_not_get_worse(tmp_path: Path) -> None:
    more = '[[protected]]\nname = "words"\ncommand = ["sh", "-c", "wc -w < words.txt"]\ndirection = "higher"\n'
    task = command_task(tmp_path / "t", guards="", more=more)
    assert code_of(evaluated(task, tmp_path, words_txt="keep this one\n")) == "measured"
    result = evaluated(task, tmp_path, words_txt="keep\n")
    assert code_of(result) == "protected_case_worse" and "from 2 to 1" in result.refusal.message  # type: ignore[union-attr]


def test_what_the_candidate_runs_cannot_reach_the_number(tmp_path: Path) -> None:
    """It prints numbers, writes where the metric is read, edits the frozen, and leaves a process behind."""
    metric = 'run = ["sh", "./build.sh"]\ncommand = ["sh", "-c", "cat frozen.txt >&2; wc -c < {out}/made"]\n'
    files = {"build.sh": "echo hello > $HEADWAY_OUT/made\n"}
    task = command_task(tmp_path / "t", metric=metric, files=files)
    secret = tmp_path / "secret"
    secret.write_text("0" * 50)
    game = f"""
echo 1; echo 1 > "$HEADWAY_STDOUT"; echo melted > frozen.txt; echo 0 > {tmp_path}/escaped
(sleep 3; echo > $HEADWAY_OUT/made) &
cat {task.folder}/task.toml > $HEADWAY_OUT/read 2>&1
ln -s {secret} $HEADWAY_OUT/linked
echo hello > $HEADWAY_OUT/made
"""
    result = evaluated(task, tmp_path, build_sh=game)
    assert result.outcome == "measured" and set(result.samples[0].candidate) == {6.0}, result
    assert "ice" in result.profile and not (tmp_path / "escaped").exists()


def test_a_run_that_fails_crashes_or_hangs_has_no_number(tmp_path: Path) -> None:
    metric = 'run = ["sh", "./build.sh"]\ncommand = ["echo", "3"]\nseconds = 1\n'
    task = command_task(tmp_path / "t", metric=metric, files={"build.sh": "true\n"})
    for body, reason in (("exit 3", "compile_failed"), ("kill -9 $$", "died"), ("sleep 9", "timed_out")):
        assert code_of(evaluated(task, tmp_path, build_sh=body)) == reason


def test_better_than_can_be_is_quarantined(tmp_path: Path) -> None:
    task = command_task(tmp_path / "t", metric=METRIC + "\nfloor = 3")
    assert code_of(evaluated(task, tmp_path, size_txt="2\n")) == "below_floor"


def test_a_deterministic_metric_is_proven_to_be_one(tmp_path: Path) -> None:
    task = command_task(tmp_path / "t", metric='command = ["sh", "-c", "echo $HEADWAY_SEED"]\ndeterministic = true')
    result = evaluated(task, tmp_path)
    assert code_of(result) == "metric_unreadable" and "drop `deterministic`" in result.refusal.next  # type: ignore[union-attr]


def test_a_task_whose_guards_notice_nothing_is_vacuous(tmp_path: Path) -> None:
    task = command_task(
        tmp_path / "t", metric='command = ["sh", "-c", "cat size.txt words.txt | wc -c"]\nadd = 1', guards=""
    )
    assert code_of(evaluated(task, tmp_path, "baseline")) == "vacuous_task"
    assert code_of(evaluated(command_task(tmp_path / "u"), tmp_path, "baseline")) == "measured"


def test_what_may_not_be_edited_is_refused_here_too(tmp_path: Path) -> None:
    assert code_of(evaluated(command_task(tmp_path / "t"), tmp_path, frozen_txt="melted\n")) == "outside_editable"


def test_missing_tools_decide_nothing(tmp_path: Path) -> None:
    task = command_task(tmp_path / "t", guards="")
    lacking = replace(task, command=replace(task.command, needs=("no-such-program",)))  # type: ignore[type-var]
    result = evaluated(lacking, tmp_path)
    assert result.outcome == "could_not_run" and code_of(result) == Reason.NO_COMMAND
    assert "needs no-such-program" in result.refusal.message  # type: ignore[union-attr]
    broken = replace(task, command=replace(task.command, setup=Setup(("false",), (), 5)))  # type: ignore[type-var]
    assert evaluated(broken, tmp_path).outcome == "could_not_run"


def test_a_result_is_found_again_under_its_key_and_a_job_is_not_run_twice(tmp_path: Path) -> None:
    task = command_task(tmp_path / "t")
    job = WorkerJob("key-1", task.folder, task.baseline, "screen", 1, 2, None, 60)
    worker = CommandWorker(task, tmp_path / "w", LocalExecutor())
    assert worker.collect("key-1", 60) is None
    worker.submit(job)
    assert worker.collect("key-1", 0.0) is None
    first = worker.collect("key-1", 60)
    assert CommandWorker(task, tmp_path / "w", LocalExecutor()).collect("key-1", 0.0) == first
