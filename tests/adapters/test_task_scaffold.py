"""`tune new`: a folder that loads, proves itself on the real worker, and every fault one sentence."""

import json
from pathlib import Path

import pytest

from headway.adapters.task_files import load_task
from headway.adapters.task_scaffold import scaffold
from headway.cli.main import exit_code_of
from headway.core.errors import HeadwayError

FUNCTIONS = """
import numpy as np

def rms(x):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)

def same(x):
    return x.copy()
"""


@pytest.fixture(autouse=True)
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.py").write_text(FUNCTIONS)
    return tmp_path / "f.py"


def test_the_folder_loads_and_says_what_was_asked(tmp_path: Path) -> None:
    scaffold(tmp_path / "rms", "f.py:rms", ["x:N,M", "w:M"], "y:N,M", {"N": 64}, "rms")
    task = load_task(tmp_path / "rms")
    assert task.signature == "entry(x: float32 [N, M], w: float32 [M]) -> float32 [N, M]"
    assert task.timed_cases[0].sizes == {"N": 64, "M": 256} and task.timed_cases[0].protected
    assert sum(case.held_out for case in task.cases) == 2 and task.baseline.endswith("entry = rms\n")


def test_a_new_task_is_proven_by_the_real_judge_and_a_vacuous_one_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = ["tune", "new", "--input", "x:N,M", "--size", "N=48", "--size", "M=64"]
    assert exit_code_of([*new, "rms-norm", "--function", "f.py:rms"]) == 0
    capsys.readouterr()
    code = exit_code_of(["tune", "check", "rms-norm", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "headway.tune-check/1" and told["cases"] == 5 and len(told["runs"]) == 3
    assert code == (0 if told["ok"] else 4), "a busy machine may not be able to repeat a measurement"
    assert exit_code_of([*new, "copy", "--function", "f.py:same"]) == 0
    assert exit_code_of(["tune", "check", "copy"]) == 1
    words = capsys.readouterr().err
    assert "The task copy fails its check (vacuous_task): Case main of copy is vacuous: a copy of x passes it." in words


@pytest.mark.parametrize(
    ("function", "inputs", "output", "sizes", "words"),
    [
        ("f.py:none", ["x:N"], "y:N", {}, r"f.py defines no function 'none'. It defines: rms, same."),
        ("g.py:rms", ["x:N"], "y:N", {}, r"there is no file 'g.py'"),
        ("f.py:rms", [], "y:N", {}, r"A task needs at least one argument."),
        ("f.py:rms", ["x[N]"], "y:N", {}, r"'x\[N\]' describes no array. Write it like x:N,M."),
        ("f.py:rms", ["x:N"], "y:N", {"K": 3}, r"No array has a size K. The sizes are: N."),
    ],
)
def test_every_fault_is_one_sentence_and_writes_nothing(
    tmp_path: Path, function: str, inputs: list[str], output: str, sizes: dict[str, int], words: str
) -> None:
    with pytest.raises(HeadwayError, match=words):
        scaffold(tmp_path / "task", function, inputs, output, sizes, "task")
    assert not (tmp_path / "task").exists()
