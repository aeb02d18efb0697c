"""Task folders at the edge: the three that ship load, and every fault is one sentence."""

import re
import shutil
from pathlib import Path

import pytest

from headway.adapters.task_files import load_task, task_digest
from headway.core.errors import HeadwayError
from headway.core.task import evaluate_expression, fill, space_size

TASKS = Path(__file__).parents[2] / "src/headway/tasks"


@pytest.mark.parametrize("name", ["cpu-matmul", "cpu-softmax", "cpu-gated-scan"])
def test_the_tasks_that_ship_load(name: str) -> None:
    task = load_task(TASKS / name.replace("-", "_"))
    assert task.id == name and task.timed_cases and any(c.held_out for c in task.cases)
    assert any(c.protected for c in task.cases) and task.floor.seconds(task.cases[0].sizes) > 0
    filled = fill(task.template, {knob.name: knob.values[0] for knob in task.knobs})
    assert not re.search(r"@[A-Z_]+@", filled)


def test_the_matrix_product_has_more_than_five_thousand_different_sources() -> None:
    task = load_task(TASKS / "cpu_matmul")
    assert space_size(task.knobs) >= 5_000
    for knob in task.knobs:  # each knob is in the source, so different values are different sources
        assert f"@{knob.name}@" in task.template


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(TASKS / "cpu_softmax", tmp_path / "task")
    return tmp_path / "task"


def change(folder: Path, old: str, new: str) -> Path:
    path = folder / "task.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new, 1))
    return folder


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('kind = "cpu-python"', 'kind = "gpu"', r"kind: Input should be 'cpu-c', 'cpu-python', 'triton' or 'command'"),
        ('schema = "headway.task/1"', 'schema = "headway.task/9"', r"schema: Input should be 'headway.task/1'"),
        ("[goal]", "[gaol]", r"goal: Field required"),
        ("k = 4.0", "k = -1", r"tolerance.k: Input should be greater than 0"),
        ("stall = 60", "stal = 60", r"budget.stal: Extra inputs are not permitted"),
        ('name = "long-32x8192"', 'name = "rows-512x512"', r"two cases are called rows-512x512"),
        ('baseline = "baseline.py"', 'baseline = "missing.py"', r"names missing.py, which is not in the folder"),
        ('baseline = "baseline.py"', 'baseline = "../escape.py"', r"lies outside the task's folder"),
        ('bytes = "8*N*M"', 'bytes = "__import__(1)"', r"is not arithmetic in the sizes N, M"),
        ('bytes = "8*N*M"', 'bytes = "8*K"', r"is not arithmetic in the sizes N, M"),
        ("seeds = [1]\n", "seeds = []\n", r"cases.0.seeds: Tuple should have at least 1 item"),
        ("[goal]", "[goal", r"is not TOML"),
    ],
)
def test_every_fault_of_a_task_file_is_one_sentence(folder: Path, old: str, new: str, words: str) -> None:
    (folder.parent / "escape.py").write_text("")
    with pytest.raises(HeadwayError, match=words) as refused:
        load_task(change(folder, old, new))
    assert "task.toml" in str(refused.value) or "[floor]" in str(refused.value)


def test_a_folder_that_is_no_task_and_a_task_that_times_nothing(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match=r"is no task: it has no task.toml"):
        load_task(tmp_path)
    text = (folder / "task.toml").read_text().replace("timed = true\n", "").replace("protected = true\n", "")
    (folder / "task.toml").write_text(text)
    with pytest.raises(HeadwayError, match=r"no public case is timed"):
        load_task(folder)


def test_the_digest_is_over_every_file_and_ignores_caches(folder: Path) -> None:
    before = task_digest(folder)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__/reference.pyc").write_bytes(b"x")
    assert task_digest(folder) == before
    (folder / "reference.py").write_text("")
    assert task_digest(folder) != before


def test_expressions_are_arithmetic_and_nothing_else() -> None:
    assert evaluate_expression("2*m*n + m**2/4 - 1", {"m": 4, "n": 3}) == 27
    for text in ("m.real", "m if m else 1", "'a'*m", "m//2", "f(m)", ""):
        with pytest.raises(HeadwayError):
            evaluate_expression(text, {"m": 4})
