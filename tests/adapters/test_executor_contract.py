"""One contract for executors, run on the real one and on the fake."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.adapters.local_executor import LocalExecutor
from headway.adapters.scripted_executor import Reply, ScriptedExecutor, argv_is
from headway.core.ports.executor import Command, Executor, Limits, Outcome

SCRIPTS = {
    "echo out; echo err >&2": Reply(output=b"out\nerr\n"),
    "exit 7": Reply(exit=7),
    "kill -SEGV $$": Reply(died="SIGSEGV"),
    "sleep 30": Reply(timed_out=True),
    "seq 1 100000": Reply(output=b"".join(b"%d\n" % n for n in range(1, 100001))),
    "echo made > made": Reply(writes={"made": b"made\n"}),
}


def real() -> Executor:
    return LocalExecutor()


def fake() -> Executor:
    rules = [argv_is(("sh", "-c", line), reply) for line, reply in SCRIPTS.items()]
    rules.append(argv_is(("no-such-program",), Reply(not_started="no-such-program: No such file or directory")))
    return ScriptedExecutor(rules)


@pytest.fixture(params=[real, fake], ids=["real", "fake"])
def executor(request: pytest.FixtureRequest) -> Executor:
    make: Callable[[], Executor] = request.param
    return make()


def run(executor: Executor, cwd: Path, *argv: str, seconds: float = 20, output: int = 1 << 20) -> Outcome:
    limits = Limits(seconds=seconds, output_bytes=output)
    return executor.run(Command(argv, cwd, limits, env={"PATH": os.environ["PATH"]}, writable=(cwd,)))


def sh(executor: Executor, cwd: Path, line: str, **more: float) -> Outcome:
    return run(executor, cwd, "sh", "-c", line, **more)  # type: ignore[arg-type]


def test_output_of_both_streams_comes_in_order(executor: Executor, tmp_path: Path) -> None:
    outcome = sh(executor, tmp_path, "echo out; echo err >&2")
    assert (outcome.exit, outcome.output, outcome.truncated) == (0, b"out\nerr\n", False)
    assert outcome.sandbox and outcome.died is None and not outcome.timed_out and outcome.not_started is None


def test_raised_and_died_differ(executor: Executor, tmp_path: Path) -> None:
    raised, died = sh(executor, tmp_path, "exit 7"), sh(executor, tmp_path, "kill -SEGV $$")
    assert (raised.exit, raised.died) == (7, None)
    assert (died.exit, died.died) == (None, "SIGSEGV")


def test_a_time_limit_has_no_exit_code(executor: Executor, tmp_path: Path) -> None:
    outcome = sh(executor, tmp_path, "sleep 30", seconds=0.3)
    assert (outcome.exit, outcome.timed_out, outcome.died) == (None, True, None)


def test_a_program_that_is_not_there_did_not_start(executor: Executor, tmp_path: Path) -> None:
    outcome = run(executor, tmp_path, "no-such-program")
    assert outcome.exit is None and outcome.not_started == "no-such-program: No such file or directory"


def test_long_output_keeps_its_head_and_tail(executor: Executor, tmp_path: Path) -> None:
    outcome = sh(executor, tmp_path, "seq 1 100000", output=1000)
    assert outcome.truncated and len(outcome.output) < 1100
    assert outcome.output.startswith(b"1\n2\n3\n") and outcome.output.endswith(b"99999\n100000\n")
    assert b"bytes here]" in outcome.output


def test_files_are_written_where_they_may_be(executor: Executor, tmp_path: Path) -> None:
    assert sh(executor, tmp_path, "echo made > made").exit == 0
    assert (tmp_path / "made").read_text() == "made\n"


def test_the_fake_does_not_answer_what_no_rule_covers(tmp_path: Path) -> None:
    assert ScriptedExecutor([]).run(Command((sys.executable,), tmp_path, Limits(1))).not_started
