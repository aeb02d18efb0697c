"""What every test shares: a scrubbed environment, and CI's rule that a skip must not hide a missing tool."""

import os
import re
from collections.abc import Iterator

import pytest

from tests.interpreting import Interpreting

MISSING_TOOL = re.compile(
    r"could not import|no module named|not installed|no (c )?compiler|no browser|chromium"
    r"|missing (package|browser|compiler)",
    re.IGNORECASE,
)
"""A skip with such a reason means that the machine lacks something `.ci/run` should have installed."""

LONG_FIRST = (
    "tests/kill/test_kill.py",
    "tests/demo",
    "tests/worker/test_drawn.py",
    "tests/tune/test_selftest.py",
    "tests/tasks",
    "tests/docs",
)
"""What takes longest: `make test` shares files between processes, and one begun last is waited for."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Longest files first; all others keep their order."""

    def rank(item: pytest.Item) -> int:
        place = item.nodeid
        return next((at for at, name in enumerate(LONG_FIRST) if place.startswith(name)), len(LONG_FIRST))

    items.sort(key=rank)


@pytest.fixture(autouse=True)
def _quiet_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test may see the developer's git settings, tokens or headway settings, nor leave anything in HOME."""
    for name in list(os.environ):
        if name.startswith(("HEADWAY_", "GIT_")):
            monkeypatch.delenv(name)
    home = tmp_path_factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.fixture(scope="session")
def interpreting() -> Iterator[Interpreting]:
    """Runs programs under Triton's interpreter; one process of each test worker imports what they need."""
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    one = Interpreting()
    yield one
    one.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """With CI=true a skip for want of a package, browser or compiler is a failure."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true" and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if MISSING_TOOL.search(reason):
            report.outcome = "failed"
            report.longrepr = f"skipped in CI for want of a tool, which .ci/run must install: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """The same for a whole module that skips itself while it is imported."""
    report = yield
    if report.skipped and os.environ.get("CI") == "true" and MISSING_TOOL.search(str(report.longrepr)):
        report.outcome = "failed"
        report.longrepr = f"module skipped in CI for want of a tool: {report.longrepr}"
    return report
