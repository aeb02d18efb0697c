"""What the clock makes of a test that is born red, and of a machine that is unwell for a while. The suite is scripted,
so that the machine can be unwell for exactly so many runs; everything else is real."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headway.adapters.clocks import HandClock
from headway.adapters.scripted_executor import Reply, ScriptedExecutor
from headway.core.ports.executor import Command
from headway.wiring import validate_watch
from headway.wiring.validate_room import Asked
from headway.wiring.world import World
from tests.validate.shell_forks import TOML, WRONG, ShellFork, new_shell_fork

HARMLESS = 7


class Clock:
    """A fork whose tier is due at each look, and a machine on which `unwell` says of each run what every test says."""

    def __init__(self, folder: Path) -> None:
        toml = TOML.replace('suites = ["unit", "speed"]', 'suites = ["unit"]')
        self.fork: ShellFork = new_shell_fork(folder, toml)
        self.runs = 0
        self.unwell: Callable[[int], str] = lambda _: ""
        self._days = 0
        self._state = folder / "state"

    def look(self) -> dict:
        self._days, self.runs = self._days + 1, 0
        clock = HandClock(datetime(2026, 4, self._days, 12, tzinfo=UTC))
        world = World({}, clock, ScriptedExecutor([self._suite]))
        asked = Asked(self.fork.repo.path, self._state, world=world)
        [answer] = validate_watch.watch(asked, once=True, say=lambda _: None)
        return answer.evidence

    def _suite(self, command: Command) -> Reply:
        self.runs += 1
        said = self.unwell(self.runs)
        wrong = "* 3" in (command.cwd / "engine.sh").read_text()
        faults = {"doubles": said or ("double returned wrong product" if wrong else ""), "sees": said}
        faults |= {path.name: said or path.read_text() for path in (command.cwd / "checks").glob("new*")}
        cases = "".join(
            f"<testcase classname='checks' name='{name}'>{fault and f'<failure message={fault!r}/>'}</testcase>"
            for name, fault in faults.items()
        )
        return Reply(int(any(faults.values())), writes={"report.xml": f"<testsuite>{cases}</testsuite>".encode()})


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    clock = Clock(tmp_path)
    assert clock.look()["verdict"] == "green"
    return clock


def history(clock: Clock, at: int, subject: str, files: dict[str, str | bytes | None]) -> str:
    """Harmless commits, and the one that matters among them."""
    made = [
        clock.fork.commit(subject, files)
        if number == at
        else clock.fork.commit(f"harmless {number}", {"n": f"{number}"})
        for number in range(HARMLESS)
    ]
    return made[at]


def test_a_test_that_is_born_red_is_its_authors(clock: Clock) -> None:
    guilty = history(clock, 3, "born", {"checks/new": "it never worked"})
    seen = clock.look()
    [found] = seen["findings"]
    assert seen["verdict"] == "red" and found["subject"] == "checks::new"
    assert (found["cause"], found["answer"], found["suspects"]) == ("code", "born_red", [guilty])
    [issue] = clock.fork.issues()
    assert guilty[:12] in issue["body"] and "born red" in issue["body"]


def test_an_outage_in_the_middle_of_a_search_makes_no_other_commit_the_culprit(clock: Clock) -> None:
    guilty = history(clock, 2, "guilty", {"engine.sh": WRONG})
    clock.unwell = lambda run: "double returned wrong product" if 7 <= run < 14 else ""
    seen = clock.look()
    [found] = [one for one in seen["findings"] if one["subject"] == "checks::doubles"]
    assert (found["answer"], found["suspects"]) == ("culprit", [guilty]) and clock.runs > 14


@pytest.mark.parametrize(
    ("well_from", "cause", "issues"), [(2, "noise", 0), (99, "hardware", 1)], ids=["is over", "goes on"]
)
def test_an_outage_while_the_tier_runs_blames_nobody(clock: Clock, well_from: int, cause: str, issues: int) -> None:
    history(clock, 4, "innocent", {"note": "1"})
    clock.unwell = lambda run: "the sky fell" if run < well_from else ""
    seen = clock.look()
    assert {one["cause"] for one in seen["findings"]} == {cause} and clock.runs <= 9, "no search"
    assert len(clock.fork.issues()) == issues
    clock.unwell = lambda _: ""
    assert clock.look()["verdict"] == "green"
    assert {issue["state"] for issue in clock.fork.issues()} <= {"closed"}


def test_words_of_the_machine_are_infrastructure_and_never_where_an_error_stands_beside(clock: Clock) -> None:
    history(clock, 4, "innocent", {"note": "1"})
    clock.unwell = lambda _: "No space left on device"
    seen = clock.look()
    assert seen["verdict"] == "incomplete" and {one["cause"] for one in seen["findings"]} == {"infrastructure"}
    assert clock.runs == 1, "its own words say enough"
    clock.unwell = lambda _: "No space left on device, AssertionError: 4 != 6"
    assert {one["cause"] for one in clock.look()["findings"]} == {"hardware"}
