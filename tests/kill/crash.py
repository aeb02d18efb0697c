"""Runs a scenario in forked children of one process that has imported everything, and kills them at failpoints.

A scenario is prepared once in a folder; each trial works on a copy. A child dies by its own SIGKILL at the N-th
failpoint that it passes (`adapters/failpoints.py`), is started again without one, and must end with the same picture as
the run that nobody disturbed. In a chain, every restarted child is given another failpoint, until one survives.
"""

import os
import shutil
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Scenario:
    """`run` does the whole job, or what is left of it; `picture` is everything that must come out the same."""

    name: str
    prepare: Callable[[Path], None]
    run: Callable[[Path], None]
    picture: Callable[[Path], Any]


@dataclass(frozen=True)
class Trial:
    """One disturbed run: where its children died, and what it ended with."""

    deaths: tuple[str, ...]
    picture: Any


class Crashes:
    """All trials of one scenario, beside the undisturbed run that they are compared with."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario = scenario
        self._folder = folder
        self._template = folder / "template"
        self._count = 0
        scenario.prepare(self._template)
        quiet = self._copy()
        trace = folder / "trace"
        assert self._child(quiet, {"HEADWAY_FAILPOINT_LOG": str(trace)}) == 0, "the undisturbed run must not fail"
        self.points = [line.split(" ", 1)[1] for line in trace.read_text().splitlines()]
        self.expected = scenario.picture(quiet)

    def kinds(self) -> Counter[str]:
        """How many failpoints there are of each kind."""
        return Counter(point.split(" ")[0] for point in self.points)

    def alone(self, number: int) -> Trial:
        """Kill at the `number`-th failpoint of a fresh run, then let a second run finish."""
        return self._trial([number])

    def chain(self, first: int, stride: int) -> Trial:
        """Kill at failpoint `first`, then every restarted run at its own `stride`-th, until one survives."""
        return self._trial([first], stride)

    def _trial(self, kills: list[int], stride: int = 0) -> Trial:
        place, deaths = self._copy(), []
        kill_at = kills[0]
        while True:
            trace = place.with_suffix(".trace")
            trace.unlink(missing_ok=True)
            died = self._child(place, {"HEADWAY_FAILPOINT": str(kill_at), "HEADWAY_FAILPOINT_LOG": str(trace)})
            if not died:
                break
            deaths.append(trace.read_text().splitlines()[-1].split(" ", 1)[1])
            kill_at = stride or sys.maxsize
            assert len(deaths) < 10 * len(self.points), "a chain must make progress"
        picture = self.scenario.picture(place)
        shutil.rmtree(place)
        return Trial(tuple(deaths), picture)

    def _copy(self) -> Path:
        self._count += 1
        place = self._folder / f"run-{self._count}"
        shutil.copytree(self._template, place, symlinks=True)
        return place

    def _child(self, place: Path, env: dict[str, str]) -> int:
        """0 if the child ended by itself, SIGKILL if it died at its failpoint; anything else fails the test."""
        pid = os.fork()
        if pid == 0:
            code = 70
            try:
                signal.alarm(TIMEOUT_SECONDS)
                os.environ.update(env)
                self.scenario.run(place)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
            return signal.SIGKILL
        assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, f"the child ended with status {status}"
        return 0
