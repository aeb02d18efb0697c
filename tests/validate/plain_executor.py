"""An executor without a sandbox, for stories that are about what was run and not about what it could reach: a sixth of
the time a run. The real one has its contract suite, its hostile suites, and `tests/cli/test_validate_run.py`."""

import subprocess
import time

import pytest

from headway.core.ports.executor import Command, Outcome, Resources
from headway.wiring import validate_room


class PlainExecutor:
    """`Executor`: a process, its time limit, and nothing else."""

    def run(self, command: Command) -> Outcome:
        began, late = time.monotonic(), False
        env = {"PATH": "/usr/local/bin:/usr/bin:/bin", **command.env}
        process = subprocess.Popen(
            command.argv,
            cwd=command.cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
        try:
            output, _ = process.communicate(timeout=command.limits.seconds)
        except subprocess.TimeoutExpired:
            late = True
            subprocess.run(["kill", "-9", "--", f"-{process.pid}"], check=True)
            output, _ = process.communicate()
        return Outcome(
            exit=None if late else process.returncode,
            output=output,
            timed_out=late,
            died=None,
            truncated=False,
            resources=Resources(round(time.monotonic() - began, 3), 0.0, 0.0, 0),
            sandbox=(),
            not_started=None,
        )


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Suites of validate's verbs run as plain processes."""
    monkeypatch.setattr(validate_room, "LocalExecutor", PlainExecutor)
