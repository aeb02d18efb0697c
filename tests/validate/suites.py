"""Small forks with a fast suite of their own: functions of `tests/checks.py`, reported as JUnit XML."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from headway.adapters.clones import GitClones
from headway.adapters.local_executor import LocalExecutor
from headway.adapters.memory_blobs import MemoryBlobs
from headway.core.config import L1Config, StepConfig
from headway.core.names import Sha
from headway.core.ports.executor import Command, Executor, Outcome
from headway.validate.known import KnownResults
from headway.validate.suite_run import Ports
from headway.validate.tier_ladder import ChangeToCheck, L1Answer, check_change
from tests.sync.repos import Repo, new_repo

RUNNER = """
import pathlib, sys, traceback, xml.sax.saxutils as sax
sys.path.insert(0, ".")
def run():
    import tests.checks as checks
    for name in [n for n in vars(checks) if n.startswith("test_")]:
        try:
            getattr(checks, name)()
            yield name, ""
        except checks.Skip as skip:
            yield name, f"<skipped message={sax.quoteattr(str(skip))}/>"
        except BaseException as wrong:
            yield name, f"<failure message={sax.quoteattr(repr(wrong))}/>"
cases = list(run())
body = "".join(f'<testcase classname="tests.checks" name="{n}" time="0.01">{o}</testcase>' for n, o in cases)
pathlib.Path("report.xml").write_text(f'<testsuites><testsuite name="s">{body}</testsuite></testsuites>')
sys.exit(any("failure" in o for _, o in cases))
"""
CHECKS = """
import engine
class Skip(Exception): pass
def test_adds(): assert engine.add(2, 2) == 4
def test_doubles(): assert engine.double(3) == 6
"""
ENGINE = "def add(a, b): return a + b\ndef double(a): return a * 2\n"
FILES: dict[str, str | bytes | None] = {
    "engine/__init__.py": ENGINE,
    "tests/__init__.py": "",
    "tests/checks.py": CHECKS,
    "run_checks.py": RUNNER,
}
TEST = f"{sys.executable} -B run_checks.py"
L1 = L1Config(test=StepConfig(TEST, timeout_seconds=60), junit=("report.xml",))


class CountingExecutor:
    """Hands everything on, and remembers what was asked."""

    def __init__(self, inner: Executor) -> None:
        self.inner = inner
        self.commands: list[Command] = []

    def run(self, command: Command) -> Outcome:
        self.commands.append(command)
        return self.inner.run(command)


@dataclass
class Fork:
    """A fork with its suite, and everything L1 needs to check a change of it."""

    repo: Repo
    base: Sha
    ports: Ports
    executor: CountingExecutor
    known: KnownResults = field(default_factory=KnownResults)

    def change(self, subject: str, files: dict[str, str | bytes | None]) -> Sha:
        return self.repo.commit(subject, files)

    def check(self, change: Sha, *, l1: L1Config = L1, prove: bool = False, base: Sha | None = None) -> L1Answer:
        asked = ChangeToCheck(self.repo.path, change, base or self.base, prove=prove)
        return check_change(l1, asked, self.ports, self.known)

    def output(self, answer: L1Answer) -> str:
        """What the last step printed."""
        return self.ports.blobs.get(answer.change.steps[-1].output).decode()


def new_fork(
    folder: Path, *, files: dict[str, str | bytes | None] | None = None, layers: frozenset[str] | None = None
) -> Fork:
    repo = new_repo(folder / "fork", "Fork Owner")
    base = repo.commit("base", {**FILES, **(files or {})})
    executor = CountingExecutor(LocalExecutor(layers=layers))
    return Fork(repo, base, Ports(executor, GitClones(folder / "pool"), MemoryBlobs(), dict(os.environ)), executor)
