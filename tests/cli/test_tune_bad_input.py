"""Bad tasks and candidates through `headway tune check | run | evaluate`: one sentence, the right code, no speed."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from headway.cli.main import exit_code_of

TASKS = Path(__file__).parents[2] / "src/headway/tasks"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def task(name: str, **replaced: str) -> str:
    """A copy of a small cpu-softmax with some of its files replaced; `a_b` names the file `a.b`."""
    shutil.copytree(TASKS / "cpu_softmax", Path(name))
    text = (Path(name) / "task.toml").read_text().replace("N = 512, M = 512", "N = 32, M = 64")
    (Path(name) / "task.toml").write_text(text.replace("N = 32, M = 8192", "N = 8, M = 256"))
    for file, content in replaced.items():
        (Path(name) / file.replace("_", ".")).write_text(content)
    return name


CONSTANT = (TASKS / "cpu_softmax/reference.py").read_text().replace("e / e.sum(axis=-1, keepdims=True)", "e * 0")
ZEROS = "import numpy as np\n\n\ndef entry(x):\n    return np.zeros_like(x)\n"
BAD_TASKS = {
    "a vacuous reference": ({"reference_py": CONSTANT, "baseline_py": ZEROS}, "is vacuous: zeros passes it"),
    "a baseline that fails its own cases": (
        {"baseline_py": ZEROS.replace("zeros", "ones")},
        "own baseline is as wrong as",
    ),
    "a baseline that does not start": ({"baseline_py": "def entry(x:\n"}, "does not parse"),
    "a reference without an oracle": (
        {"reference_py": "def make_inputs(case, seed): ..."},
        "reference.py does not load",
    ),
}


@pytest.mark.parametrize("name", BAD_TASKS)
def test_a_bad_task_is_refused_before_any_candidate(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    files, word = BAD_TASKS[name]
    bad = task("bad", **files)
    for verb in (("check", bad), ("run", bad, "--attempts", "2", "--dir", "c")):
        assert exit_code_of(["tune", *verb]) == 1
        said = capsys.readouterr().err
        assert word in said and "Traceback" not in said, said


SOFTMAX = (TASKS / "cpu_softmax/baseline.py").read_text()
C = "void entry(int m, int n, int k, const float *a, const float *b, float *c) {{ {body} }}\n"
CANDIDATES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "fills the disk": (
        "cpu-softmax",
        "import numpy as np\ndef entry(x):\n    np.save('big.npy', np.zeros(1 << 30, dtype='u1'))\n    return x\n",
        ("banned_call",),
    ),
    "ignores SIGTERM and never ends": (
        "cpu-softmax",
        "def entry(x):\n    while True:\n        try: pass\n        except BaseException: pass\n",
        ("timed_out",),
    ),
    "writes a gigabyte to stdout": (
        "cpu-softmax",
        SOFTMAX.replace("def entry(x):", "def entry(x):\n    for _ in range(1 << 20): print('x' * 1024)"),
        ("output_limit",),
    ),
    "forks, in C, by a declaration of its own": (
        "cpu-matmul",
        "int fork(void);\n" + C.format(body="fork();"),
        ("banned_source",),
    ),
    "never ends, in C": ("cpu-matmul", C.format(body="for (volatile int i = 0;; i++) {}"), ("timed_out",)),
}


def evaluated(name: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    where, source, _ = CANDIDATES[name]
    shutil.copytree(TASKS / where.replace("-", "_"), "task")
    toml = Path("task/task.toml")
    toml.write_text(
        toml.read_text().replace("run_seconds = 30", "run_seconds = 2").replace("run_seconds = 60", "run_seconds = 2")
    )
    file = Path("candidate.c" if where == "cpu-matmul" else "candidate.py")
    file.write_text(source)
    assert exit_code_of(["tune", "evaluate", "task", str(file), "--json"]) == 1
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_candidate_that_misbehaves_is_refused_in_time_and_has_no_ratio(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()
    found = evaluated(name, capsys)
    assert found["verdict"] == "refused" and found["ratio"] is None and not found["measured"]
    assert found["reasons"][0]["code"] in CANDIDATES[name][2]
    assert time.monotonic() - began < 60
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 10 << 20
