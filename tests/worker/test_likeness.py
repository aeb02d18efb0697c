"""Code of a banned package under other names is noticed, and honest code is not; through the judge's admission too."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headway.adapters.task_files import load_task
from headway.core.errors import HeadwayError
from headway.worker.likeness import check_likeness, index_of, prints_of
from headway.worker.refusals import CouldNotRun, Refused

TASKS = Path(__file__).parents[2] / "src" / "headway" / "tasks"
BANNED = (TASKS / "matmul_epilogue" / "baseline.py").read_text()
HONEST = (TASKS / "causal_attention" / "baseline.py").read_text()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "banned").mkdir()
    (tmp_path / "banned" / "matmul.py").write_text(BANNED)
    (tmp_path / "banned.json").write_text(json.dumps(index_of(tmp_path / "banned")))
    return tmp_path


def renamed(source: str) -> str:
    """Every name of its own changed, numbers and comments too."""
    names = set(re.findall(r"(?<![.\w])[a-z_]\w*", source)) - {"import", "def", "for", "in", "return", "as", "if", "tl"}
    names -= {"triton", "torch", "jit", "range", "min", "from", "constexpr"}
    for name in sorted(names, key=len, reverse=True):
        source = re.sub(rf"(?<![.\w]){name}\b", f"{name[::-1]}_2", source)
    return source.replace("128", "256").replace("\n    c = ", "\n    # mine\n    c = ")


def test_a_copy_is_noticed_whatever_its_names(folder: Path) -> None:
    for source in (BANNED, renamed(BANNED), BANNED[: BANNED.index("def entry")]):
        with pytest.raises(Refused, match="is that of banned, which is banned") as refusal:
            check_likeness(source, {"index": "banned.json"}, folder)
        assert refusal.value.code == "similar"
    assert renamed(BANNED) != BANNED


def test_honest_code_shares_idioms_only(folder: Path) -> None:
    check_likeness(HONEST, {"index": "banned.json"}, folder)
    mine, known = prints_of(HONEST), prints_of(BANNED)
    assert 0 < len(mine & known) / len(mine) < 0.5
    check_likeness("def entry(x):\n    return x\n", {"index": "banned.json"}, folder)
    check_likeness(BANNED, {}, folder)


def test_the_bound_is_the_tasks(folder: Path) -> None:
    with pytest.raises(Refused):
        check_likeness(HONEST, {"index": "banned.json", "most": 0.01}, folder)


def test_an_index_holds_no_source_and_a_wrong_one_is_the_tasks_fault(folder: Path) -> None:
    text = (folder / "banned.json").read_text()
    assert "matmul_kernel" not in text and json.loads(text)["files"] == 1
    (folder / "banned.json").write_text(text.replace('"gram": 20', '"gram": 3'))
    for name in ("banned.json", "absent.json"):
        with pytest.raises(CouldNotRun, match="cannot be used"):
            check_likeness(BANNED, {"index": name}, folder)


def test_what_is_no_python_has_no_prints_and_comments_do_not_count() -> None:
    assert prints_of("") == prints_of("x = (") == prints_of("\x00") == frozenset()
    assert prints_of(BANNED) == prints_of(re.sub(r'"""[^"]*"""', '"""Other."""', BANNED) + "\n# end\n")


def test_the_program_writes_an_index(folder: Path) -> None:
    worker = TASKS.parent / "worker"
    words = [sys.executable, str(worker), "--index", str(folder / "banned"), "--out", str(folder / "made.json")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "prints of 1 files" in done.stdout, done.stderr
    assert json.loads((folder / "made.json").read_text()) == json.loads((folder / "banned.json").read_text())
    words[3] = str(folder / "nothing")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)


def test_a_task_that_names_an_absent_index_is_refused(tmp_path: Path) -> None:
    for path in (TASKS / "softmax").iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    text = (tmp_path / "task.toml").read_text()
    (tmp_path / "task.toml").write_text(text.replace("[limits]", '[admission.similar]\nindex = "fla.json"\n\n[limits]'))
    with pytest.raises(HeadwayError, match=r"names fla\.json, which is not in the folder"):
        load_task(tmp_path)
    (tmp_path / "fla.json").write_text(json.dumps(index_of(tmp_path)))
    assert any("code like that of fla is banned" in rule for rule in load_task(tmp_path).rules)
