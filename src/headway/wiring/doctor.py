"""What `headway doctor` calls: headway's own needs, then what the worker finds on this machine."""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any

from headway import __version__
from headway.adapters.local_worker import PROGRAM
from headway.adapters.processes import run
from headway.adapters.task_tools import hint, missing
from headway.core.errors import HeadwayError

OLDEST_GIT = (2, 39)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def findings() -> list[dict[str, Any]]:
    """Rows of {name, ok, found, needed_for, install}; nothing is changed."""
    rows = [_row("headway", True, f"{__version__} on Python {sys.version.split()[0]}", "every verb", "")]
    rows += [_git(), _program(("node",), ["--version"], "the task bundle-size, the HUD's tests", hint("node"))]
    rows.append(_program(("npm",), ["--version"], "the task bundle-size", hint("npm")))
    rows.append(
        _program(BROWSERS, ["--version"], "the task bundle-size, looking at reports in tests", hint("chromium"))
    )
    tests = "" if missing(["python:pytest"]) else "pytest"
    rows.append(_row("pytest", bool(tests), tests, "the task flaky-suite", hint("python:pytest")))
    return rows + _worker()


def _row(name: str, ok: bool, found: str, needed_for: str, install: str) -> dict[str, Any]:
    return {"name": name, "ok": ok, "found": found, "needed_for": needed_for, "install": install}


def _git() -> dict[str, Any]:
    try:
        words = run(["git", "--version"], timeout=20).text
        version = tuple(int(part) for part in words.split()[2].split(".")[:2])
    except (HeadwayError, ValueError, IndexError):
        return _row("git", False, "", "every verb", "apt install git")
    ok = version >= OLDEST_GIT
    return _row("git", ok, words if ok else f"{words} is too old", "every verb", "git 2.39 or newer")


def _program(names: Sequence[str], arguments: list[str], needed_for: str, install: str) -> dict[str, Any]:
    found = next((name for name in names if shutil.which(name)), None)
    if found is None:
        return _row(names[0], False, "", needed_for, install)
    try:
        ran = run([found, *arguments], ok=None, timeout=20, env={**os.environ, "HOME": "/nonexistent"})
    except HeadwayError as trouble:
        return _row(names[0], False, str(trouble), needed_for, install)
    lines = ran.text.splitlines()
    return _row(names[0], ran.code == 0, lines[0] if lines else f"exit {ran.code}", needed_for, install)


def _worker() -> list[dict[str, Any]]:
    ran = run([sys.executable, str(PROGRAM), "--doctor", "--json"], ok=None, timeout=120)
    try:
        return list(json.loads(ran.text)["findings"])
    except (ValueError, KeyError):
        return [_row("worker", False, ran.complaint, "tune", "report this as a bug")]
