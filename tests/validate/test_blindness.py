"""L1 is put to the proof before a first landing: a suite that stays green on a known-bad change is refused."""

import subprocess
import sys
from pathlib import Path

import pytest

from headway.core.config import L1Config, StepConfig
from headway.core.errors import HeadwayError
from headway.core.events_validate import L1Proven
from headway.core.gates import NotDecided, Passed, Refused
from headway.core.reasons import Reason
from headway.validate.known_bad import LANGUAGES, mutants, targets
from tests.validate.suites import ENGINE, FILES, L1, RUNNER, Fork, new_fork

SRC_LAYOUT: dict[str, str | bytes | None] = {
    "engine/__init__.py": None,
    "src/engine/__init__.py": ENGINE,
}


def src_fork(tmp_path: Path) -> Fork:
    fork = new_fork(tmp_path)
    fork.base = fork.repo.commit("src layout", SRC_LAYOUT)
    return fork


def venv_with_editable_install(tmp_path: Path, source: Path) -> str:
    """What `pip install -e` leaves behind: a .pth file that points at one work tree, whichever is being tested."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    [packages] = (tmp_path / "venv/lib").glob("python3*/site-packages")
    (packages / "__editable__.engine.pth").write_text(f"{source}\n")
    return str(tmp_path / "venv/bin/python")


def test_an_editable_install_that_points_elsewhere_is_found_out_and_named(tmp_path: Path) -> None:
    fork = src_fork(tmp_path)
    python = venv_with_editable_install(tmp_path, fork.repo.path / "src")
    l1 = L1Config(test=StepConfig(f"{python} -B run_checks.py"), junit=L1.junit)
    change = fork.change("break everything", {"src/engine/__init__.py": "def add(a, b): return 0\n"})
    fork.repo.git("checkout", "-q", fork.base)
    answer = fork.check(change, l1=l1, prove=True)
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.L1_BLIND
    assert "editable install that points elsewhere" in answer.verdict.message
    assert str(fork.repo.path / "src/engine/__init__.py") in answer.verdict.message
    assert not [event for event in answer.events if isinstance(event, L1Proven)]


def test_the_same_suite_pointed_at_the_clone_is_proven(tmp_path: Path) -> None:
    fork = src_fork(tmp_path)
    l1 = L1Config(test=L1.test, junit=L1.junit, set_env={"PYTHONPATH": "src"})
    answer = fork.check(fork.change("x", {"src/engine/__init__.py": ENGINE + "X = 1\n"}), l1=l1, prove=True)
    assert answer.verdict == Passed() and fork.known.proofs


def test_a_command_that_tests_nothing_is_blind(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    answer = fork.check(fork.base, l1=L1Config(test=StepConfig("true")), prove=True)
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.L1_BLIND


def test_a_suite_that_is_red_anyway_proves_nothing_by_staying_red(tmp_path: Path) -> None:
    """One test has been red for years, and none looks at the tree: the known-bad change adds no failure."""
    blind = "class Skip(Exception): pass\ndef test_old(): assert False\ndef test_fine(): pass\n"
    fork = new_fork(tmp_path, files={"tests/checks.py": blind})
    answer = fork.check(fork.change("x", {"engine/__init__.py": ENGINE + "X = 1\n"}), prove=True)
    assert isinstance(answer.verdict, Refused) and answer.verdict.reason is Reason.L1_BLIND


@pytest.mark.skipif(not Path("/usr/bin/cc").exists(), reason="no C compiler")
def test_a_c_project_is_proven_through_its_build(tmp_path: Path) -> None:
    files: dict[str, str | bytes | None] = {
        "engine/__init__.py": None,
        "lib/add.c": "int add(int a, int b) { return a + b; }\n",
        "tests/main.c": "int add(int, int);\nint main(void) { return add(2, 2) != 4; }\n",
    }
    fork = new_fork(tmp_path)
    fork.base = fork.repo.commit("in C", files)
    l1 = L1Config(test=StepConfig("./check"), build=StepConfig("cc -o check lib/add.c tests/main.c"))
    answer = fork.check(fork.base, l1=l1, prove=True)
    assert answer.verdict == Passed()
    [proof] = [event for event in answer.events if isinstance(event, L1Proven)]
    assert proof.sees == ("c",) and proof.blind_to == ("python",), "run_checks.py is no part of this suite"


def test_a_tree_without_a_source_to_break_is_not_decided(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    drop = {name: None for name in FILES}
    fork.base = fork.repo.commit("only words", {**drop, "README": "words\n"})
    answer = fork.check(fork.base, l1=L1Config(test=StepConfig("true")), prove=True)
    assert isinstance(answer.verdict, NotDecided) and answer.verdict.reason is Reason.L1_UNPROVEN
    assert "canary_paths" in answer.verdict.next


def test_chosen_paths_replace_headways_choice(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    l1 = L1Config(test=L1.test, junit=L1.junit, canary_paths=("engine/__init__.py",))
    answer = fork.check(fork.base, l1=l1, prove=True)
    assert answer.verdict == Passed() and len(fork.executor.commands) == 2


def test_a_chosen_path_that_is_no_file_of_the_commit_is_named(tmp_path: Path) -> None:
    fork = new_fork(tmp_path)
    with pytest.raises(HeadwayError, match=r"canary_paths` names gone\.py, which is no regular file of the commit"):
        fork.check(fork.base, l1=L1Config(test=L1.test, junit=L1.junit, canary_paths=("gone.py",)), prove=True)


def test_headway_breaks_the_product_and_not_its_tests() -> None:
    tracked = (
        "setup.py", "tests/test_a.py", "docs/conf.py", "pkg/__init__.py", "pkg/core/__init__.py", "pkg/core/x.py",
        "src/other/__init__.py", "single.py", "conftest.py", "pkg/test_inside.py", "third_party/v.py",
    )  # fmt: skip
    assert targets(tracked, LANGUAGES["python"]) == ("pkg/__init__.py",)
    loose = ("single.py", "runner.py", "test_single.py")
    assert targets(loose, LANGUAGES["python"], "python runner.py") == ("single.py",)
    made = mutants(("lib/a.c", "lib/a.h", "pkg/__init__.py"), (), lambda path: RUNNER.encode())
    assert [(name, sorted(files)) for name, files in made.items()] == [
        ("c", ["lib/a.c", "lib/a.h"]),
        ("python", ["pkg/__init__.py"]),
    ]
    assert made["c"]["lib/a.c"].startswith(b"#error")
