"""`headway tune` as a user meets it: real worker, real kill, real words and exit codes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from headway.cli.main import exit_code_of

TASKS = Path(__file__).parents[2] / "src/headway/tasks"
SOFTMAX = (TASKS / "cpu_softmax/baseline.py").read_text()
FASTER_SCAN = """
import numpy as np

def entry(g, x):
    decay = np.exp(np.ascontiguousarray(g.transpose(1, 0, 2)))
    h = x.transpose(1, 0, 2).copy()
    for t in range(1, len(h)):
        h[t] += decay[t] * h[t - 1]
    return np.ascontiguousarray(h.transpose(1, 0, 2))
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADWAY_STATE", raising=False)


@pytest.fixture
def small(tmp_path: Path) -> str:
    """cpu-softmax on small arrays: the same gates in a fraction of the time."""
    shutil.copytree(TASKS / "cpu_softmax", tmp_path / "small")
    text = (tmp_path / "small/task.toml").read_text()
    for old, new in (("N = 512, M = 512", "N = 32, M = 64"), ("N = 32, M = 8192", "N = 8, M = 256")):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "small/task.toml").write_text(text)
    return "small"


def said(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = exit_code_of(["tune", *args])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def board(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    code, out, _ = said(capsys, "show", *args, "--json")
    assert code == 0
    told: dict[str, Any] = json.loads(out)
    assert told["schema"] == "headway.tune-show/1"
    return told


def write_script(path: Path, *sources: str) -> Path:
    path.write_text(
        "".join(json.dumps({"source": s, "hypothesis": f"number {n}"}) + "\n" for n, s in enumerate(sources))
    )
    return path


def test_a_campaign_finds_what_is_faster_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = "def entry(g, x):\n    return x * 1\n"
    script = write_script(tmp_path / "s.jsonl", wrong, "import os\n" + FASTER_SCAN, FASTER_SCAN)
    code, out, err = said(
        capsys, "run", "cpu-gated-scan", "--agent", "script", "--script", str(script), "--seconds", "300"
    )
    assert code == 0, err
    assert "A1 refused at correctness: wrong_result" in err and "A2 refused at admission: banned_import" in err
    told = board(capsys)
    assert [a["verdict"] for a in told["attempts"]] == ["refused", "refused", "promoted"]
    assert "ratio" not in told["attempts"][0] and told["attempts"][2]["ratio"] > 1.1
    assert told["refused"] == {"wrong_result": 1, "banned_import": 1}
    folder = tmp_path / "headway-campaigns/cpu-gated-scan-1"
    assert (folder / "best.py").read_text() == FASTER_SCAN and f"its source is in {folder}" in out
    assert exit_code_of(["log", "verify", "--state", str(folder / ".headway")]) == 0


def test_a_killed_campaign_goes_on_and_counts_nothing_twice(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [
        sys.executable,
        "-m",
        "headway",
        "tune",
        "run",
        "cpu-softmax",
        "--attempts",
        "3",
        "--seconds",
        "300",
        "--dir",
        "c",
    ]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(argv, env=env, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("A1 "):
            break
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stderr.close()
    assert board(capsys, "c")["state"] == "running"
    code, _, err = said(capsys, "resume", "c")
    assert code == 0 and "going on after 1 attempts" in err
    told = board(capsys, "c")
    assert told["spent"]["attempts"] == len(told["attempts"]) == 3 and told["end"]["limit"] == "attempts"
    exit_code_of(["log", "export", "--state", "c/.headway"])
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    keys = [record["payload"]["key"] for record in records if record["type"] == "tune.job.v1"]
    assert len(keys) == len(set(keys))


def test_two_runs_of_one_campaign_at_once(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from headway.wiring.state import open_state

    script = write_script(tmp_path / "s.jsonl", SOFTMAX)
    assert said(capsys, "run", small, "--agent", "script", "--script", str(script), "--dir", "c")[0] == 0
    with open_state(Path("c/.headway")) as opened, opened.lock():
        code, _, err = said(capsys, "resume", "c", "--attempts", "9")
        assert code == 1 and "is writing this log since" in err
        code, out, _ = said(capsys, "stop", "c")
        assert code == 0 and out == "Left word for cpu-softmax-1 to stop at its next step.\n"
    assert said(capsys, "pause", "c")[1] == "No process was driving cpu-softmax-1; it is paused now.\n"
    assert board(capsys, "c")["end"]["state"] == "stopped"


def test_context_prints_what_the_agent_saw(small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = write_script(tmp_path / "s.jsonl", "def entry(x):\n    return x\n", "import os\n")
    said(capsys, "run", small, "--agent", "script", "--script", str(script), "--dir", "c")
    first, second = (said(capsys, "context", "c", "--attempt", n)[1] for n in ("1", "2"))
    assert first.startswith("# GOAL\nMake softmax") and "## Source of the incumbent (the baseline)" in first
    assert "S1: number 0" in second and "S1: number 0" not in first
    assert first.split("# END OF GOAL")[0] == second.split("# END OF GOAL")[0]
    code, _, err = said(capsys, "context", "c", "--attempt", "9")
    assert code == 1 and "The campaign cpu-softmax-1 has no attempt 9." in err


def evaluated(capsys: pytest.CaptureFixture[str], source: str, path: Path) -> tuple[int, dict[str, Any]]:
    path.write_text(source)
    code, out, _ = said(capsys, "evaluate", "small", str(path), "--json")
    told: dict[str, Any] = json.loads(out)
    assert told["schema"] == "headway.evaluate/1" and told["sandbox"] and Path(told["state"]).is_dir()
    return code, told


def test_evaluate_accepts_the_baseline_and_even_a_slow_candidate(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = evaluated(capsys, SOFTMAX, tmp_path / "same.py")
    assert code == 0 and told["verdict"] == "accepted" and told["measured"] is True and told["reasons"] == []
    # on a busy machine even equal code may look fast or slow; the interval says so
    assert told["interval"][0] <= told["ratio"] <= told["interval"][1]
    slow = SOFTMAX.replace("    e =", "    for _ in range(20):\n        np.exp(x)\n    e =")
    code, told = evaluated(capsys, slow, tmp_path / "slow.py")
    assert code == 0 and told["ratio"] < 0.9 and told["held_out_cases"] > 0


def test_evaluate_refuses_without_a_ratio_and_names_no_held_out_case(
    small: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = evaluated(capsys, "def entry(x):\n    return x * 0\n", tmp_path / "zero.py")
    assert code == 1 and told["verdict"] == "refused" and told["ratio"] is None and told["interval"] is None
    (reason,) = told["reasons"]
    assert reason["code"] == "wrong_result" and reason["message"] and reason["next"]
    assert "held" not in reason["message"] or "(held out)" in reason["message"]
    code, told = evaluated(capsys, "def entry(:\n", tmp_path / "broken.py")
    assert code == 1 and told["reasons"][0]["code"] == "syntax"


def test_without_a_compiler_nothing_is_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    code, _, err = said(capsys, "run", "cpu-matmul", "--attempts", "1", "--dir", "c")
    assert code == 4 and "Nothing could be run (no_compiler): There is no C compiler (cc) on this machine." in err
    candidate = TASKS / "cpu_matmul/baseline.c"
    code, out, _ = said(capsys, "evaluate", "cpu-matmul", str(candidate), "--json")
    assert code == 4 and json.loads(out)["verdict"] == "could_not_run"
    assert json.loads(out)["reasons"][0]["code"] == "no_compiler"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("run", "cpu-softmx"), "none that ships. Did you mean cpu-softmax?"),
        (("run", "cpu-softmax", "--agent", "oracle"), "There is no agent 'oracle'. Choose one of: search, script"),
        (("run", "cpu-softmax", "--agent", "script"), "The agent `script` replays a file, and none was given."),
        (("run", "cpu-softmax", "--agent", "script", "--script", "none.jsonl"), "none.jsonl cannot be read"),
        (("run", "cpu-softmax", "--context-budget", "7999"), "7999 tokens is below the floor of 8000."),
        (("run", "."), "is no task: it has no task.toml."),
        (("show",), "There is no campaign here."),
        (("resume", "nowhere"), "There is no campaign 'nowhere' here."),
        (("evaluate", "cpu-softmax", "none.py"), "The candidate none.py cannot be read"),
    ],
)
def test_bad_input_is_one_sentence_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], words: str
) -> None:
    code, out, err = said(capsys, *args)
    assert code == 1 and words in err and out == ""
    assert list(tmp_path.iterdir()) == []
