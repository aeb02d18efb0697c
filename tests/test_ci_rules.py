"""CI's own rules, tried on a small suite of its own: a skip for a missing tool fails there, and only there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")

FUNCTIONS = """
import pytest

def test_package():
    pytest.importorskip("no_such_package")

def test_browser():
    pytest.skip("Chromium is not installed")

def test_compiler():
    pytest.skip("no C compiler")

def test_gpu():
    pytest.skip("needs an H200")
"""
MODULE = "import pytest\npytest.importorskip('no_such_package')\n\ndef test_never_reached():\n    pass\n"
MISSING = {"test_package", "test_browser", "test_compiler"}


@pytest.fixture(scope="module", params=["true", ""], ids=["ci", "elsewhere"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[bool, str]:
    """(in CI?, what a run of the small suite printed)."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "conftest.py").write_text(CONFTEST.read_text())
    (folder / "test_functions.py").write_text(FUNCTIONS)
    (folder / "test_module.py").write_text(MODULE)
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)]
    command += ["--continue-on-collection-errors"]
    root = str(CONFTEST.parents[1])  # the conftest takes things from `tests`
    env = {**os.environ, "CI": request.param, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": root}
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, text=True)
    return request.param == "true", done.stdout


def test_a_missing_tool_fails_in_ci_and_skips_elsewhere(run: tuple[bool, str]) -> None:
    in_ci, said = run
    failed = set(re.findall(r"^FAILED \S+::(\w+)", said, re.MULTILINE))
    assert failed == (MISSING if in_ci else set()), said


def test_a_module_that_skips_itself_for_want_of_a_tool_fails_in_ci(run: tuple[bool, str]) -> None:
    in_ci, said = run
    assert ("ERROR test_module.py" in said) == in_ci, said


def test_other_skips_stay_skips(run: tuple[bool, str]) -> None:
    _, said = run
    assert "FAILED test_functions.py::test_gpu" not in said
    assert re.search(r"SKIPPED.*needs an H200", said), said
