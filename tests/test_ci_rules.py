"""CI's own rules, tried on small suites of their own: a skip for a missing tool fails there, and only there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")

SUITE = """
import pytest
{module_line}
def test_it():
    {line}
"""


def outcome(tmp_path: Path, ci: str, line: str, module_line: str = "") -> int:
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_small.py").write_text(SUITE.format(line=line, module_line=module_line))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    # without other plugins a run of one test takes a fifth of the time
    env = {**os.environ, "CI": ci, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, env=env, cwd=tmp_path, capture_output=True).returncode


@pytest.mark.parametrize(
    "line",
    [
        "pytest.importorskip('no_such_package')",
        "pytest.skip('Chromium is not installed')",
        "pytest.skip('no C compiler')",
    ],
)
def test_a_missing_tool_fails_in_ci_and_skips_elsewhere(tmp_path: Path, line: str) -> None:
    assert outcome(tmp_path, "true", line) == 1
    assert outcome(tmp_path, "", line) == 0


def test_a_missing_tool_at_module_level_fails_in_ci(tmp_path: Path) -> None:
    assert outcome(tmp_path, "true", "pass", "pytest.importorskip('no_such_package')") != 0
    assert outcome(tmp_path, "", "pass", "pytest.importorskip('no_such_package')") in (0, 5)


def test_other_skips_stay_skips(tmp_path: Path) -> None:
    assert outcome(tmp_path, "true", "pytest.skip('needs an H200')") == 0
