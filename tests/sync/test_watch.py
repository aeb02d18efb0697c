"""The watch: pace and alarm as pure functions, and the loop as a process that people stop."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from headway.core.names import Sha
from headway.sync.metrics import Point
from headway.sync.watching import Pace, alarm_of
from tests.sync.driver import Headway, new_fork

ROOT = Path(__file__).parents[2]


def test_the_pace_backs_off_from_a_silent_world_and_returns_to_the_interval() -> None:
    pace = Pace(1800)
    assert pace.seconds == 1800
    waits = []
    for _ in range(9):
        pace = pace.after(answered=False)
        waits.append(pace.seconds)
    assert waits == [30, 60, 120, 240, 480, 960, 1800, 1800, 1800]
    assert pace.after(answered=True).seconds == 1800
    assert Pace(5).after(answered=False).seconds == 5


def point(hours: float, frontier: str, waiting: int) -> Point:
    return Point(hours * 3600, f"h{hours:g}", 1.0, waiting, 0, 0.0, Sha(frontier))


def test_the_alarm_is_for_a_frontier_that_stands_still_while_commits_wait() -> None:
    moving = (point(0, "a", 5), point(10, "b", 5), point(20, "c", 5))
    assert alarm_of(moving, 30 * 3600, 24) is None
    still = (point(0, "a", 5), point(10, "b", 3), point(20, "b", 4), point(30, "b", 5))
    found = alarm_of(still, 35 * 3600, 24)
    assert found is not None and (found.hours, found.waiting, found.since) == (25, 5, "h10")
    assert alarm_of(still, 33 * 3600, 24) is None
    done = (point(0, "a", 5), point(10, "b", 0), point(40, "b", 2))
    assert alarm_of(done, 60 * 3600, 24) is None, "nothing waited until hour 40"
    assert alarm_of(still, 1 * 3600, 24) is None, "a clock that was set back is no alarm"
    assert alarm_of((), 0, 24) is None


class Watching:
    """`headway sync run --watch` as a process of its own."""

    def __init__(self, headway: Headway, interval: str = "1s") -> None:
        argv = [sys.executable, "-u", "-m", "headway", "sync", "run", "--watch", interval]
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        fork = headway.pair.fork.path
        self.process = subprocess.Popen(argv, cwd=fork, env=env, stderr=subprocess.PIPE, text=True)
        self.said: list[str] = []

    def until(self, words: str) -> None:
        """Read on until a line has these words."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if words in line:
                return
        raise AssertionError(f"{words!r} was never said: {''.join(self.said)}")

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        try:
            return self.process.wait(60)
        finally:
            self.process.kill()
            if self.process.stderr is not None:
                self.process.stderr.close()


def test_a_watch_takes_what_comes_backs_off_and_stops_cleanly(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up = headway.pair.upstream
    one = up.commit("one", {"one.txt": "1\n"})
    headway.begin()
    watch = Watching(headway)
    try:
        watch.until(f"{one[:12]}  picked(landed)")
        watch.until("next look in")
        second = headway("sync", "run", "--watch", "1s")
        assert second.code == 1 and f"(pid {watch.process.pid} on" in second.err
        two = up.commit("two", {"two.txt": "2\n"})
        watch.until(f"{two[:12]}  picked(landed)")
        up.path.rename(up.path.with_name("away"))
        watch.until("could_not_run(partial_source)")
        up.path.with_name("away").rename(up.path)
        watch.until("run ended: done")
    finally:
        code = watch.stop()
    assert code == 0
    assert headway.status()["closed"] and headway.status()["dispositions"]["picked"] == 2


def test_a_stop_in_mid_run_ends_after_the_step_and_the_next_run_goes_on(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    up = headway.pair.upstream
    slow = up.read("check.py").replace("import sys\n", "import sys, time\ntime.sleep(1.5)\n", 1)
    up.commit("slow suite", {"check.py": slow})
    one = up.commit("one", {"one.txt": "1\n"})
    headway.begin()
    watch = Watching(headway, "30m")
    try:
        watch.until("L1 is running")
        watch.process.send_signal(signal.SIGSTOP)  # it holds the writer lock, and cannot be done before the person is
        left = headway.ok("sync", "decide", one, "wont_port", "--reason", "not for us")
        watch.process.send_signal(signal.SIGCONT)
        began = time.monotonic()
    finally:
        code = watch.stop(signal.SIGINT)
    assert code == 130 and time.monotonic() - began < 50
    assert left.out == f"{one[:12]}: left for the running loop\n"
    headway.ok("sync", "run")
    found = headway.status()
    assert (found["dispositions"]["picked"], found["dispositions"]["wont_port"], found["closed"]) == (1, 1, True)


def test_a_watch_takes_no_limit_and_a_duration_must_be_one(tmp_path: Path) -> None:
    headway = new_fork(tmp_path)
    headway.begin()
    assert headway("sync", "run", "--watch", "1s", "--limit", "2").code == 1
    said = headway("sync", "run", "--watch", "soon")
    assert said.code == 1 and "'soon' is not a duration" in said.err
