"""Killed anywhere, a run that is started again ends as if nobody had disturbed it, and nothing happens twice.

Each scenario is cut at every failpoint: most in chains (a restarted process is killed again), one in ten alone.
`make soak` kills at each one alone, and at random.
"""

import os
import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.kill.crash import Crashes, Place, Scenario
from tests.kill.sync_scenario import SYNC, TRUTH, dispositions
from tests.kill.tune_scenario import TUNE, counted

CHAINS = 14
MEMORY = Path("/dev/shm")
ROOM = 1 << 30
"""Bytes that must be free there."""
SCENARIOS = {"sync": SYNC, "tune": TUNE}


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a SIGKILL loses nothing that a file system holds, on a disk or not."""
    if not (os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="headway-kill-", dir=MEMORY) as folder:
        yield Path(folder)


@dataclass(frozen=True)
class Share:
    """What one of the two workers does: its chains, and its kills that stay alone."""

    scenario: str
    folder: Path
    chains: tuple[int, ...]
    alone: tuple[int, ...]


def work(share: Share) -> tuple[set[Place], list[str]]:
    """(places where a process was killed, what came out unequal)."""
    crashes = Crashes(SCENARIOS[share.scenario], share.folder)
    trials = [(f"chain {seed}", crashes.chain(seed)) for seed in share.chains]
    trials += [(f"alone {number}", crashes.alone(number)) for number in share.alone]
    killed = {death for _, trial in trials for death in trial.deaths}
    return killed, [name for name, trial in trials if trial.picture != crashes.expected]


def run_all(
    scenario: Scenario, tmp_path: Path, chains: Iterable[int], alone: Iterable[int]
) -> tuple[set[Place], list[str]]:
    """Shares the trials between two processes; each has a copy of the world of its own."""
    chains, alone = tuple(chains), tuple(alone)
    shares = [Share(scenario.name, tmp_path / f"worker-{i}", chains[i::2], alone[i::2]) for i in (0, 1)]
    with ProcessPoolExecutor(2, mp_context=get_context("fork")) as pool:
        results = list(pool.map(work, shares))
    return set().union(*(killed for killed, _ in results)), [name for _, bad in results for name in bad]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_kill_anywhere_changes_nothing(scenario: Scenario, quick: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = Crashes(scenario, quick / "whole")
    count = len(whole.points)
    killed, unequal = run_all(scenario, quick, range(CHAINS), ())
    missed = {number for number, place in enumerate(whole.points, 1) if place not in killed}
    alone = missed | set(range(5, count + 1, 10))
    also_killed, also_unequal = run_all(scenario, quick / "alone", (), sorted(alone))
    with capsys.disabled():
        kinds = ", ".join(f"{n} {kind}" for kind, n in whole.kinds().most_common())
        print(f"\n{scenario.name}: {count} failpoints ({kinds}); {len(alone)} killed alone, the others in chains")
    assert not unequal + also_unequal
    assert set(whole.points) <= killed | also_killed


def test_the_sync_scenario_has_every_disposition_and_each_is_the_right_one(tmp_path: Path) -> None:
    crashes = Crashes(SYNC, tmp_path)
    found = dispositions(tmp_path / "place")
    assert crashes.points and sorted(found.values()) == sorted(truth.partition(":")[0] for truth in TRUTH.values())


def test_the_tune_scenario_promotes_one_of_five_and_counts_each_evaluation_once(tmp_path: Path) -> None:
    board = Crashes(TUNE, tmp_path).expected["board"]
    assert len(board["attempts"]) == 5 and len(board["promotions"]) == 1
    assert board["refused"] == {"wrong_result": 1, "duplicate": 1}
    keys = counted(tmp_path / "place")
    assert len(keys) == len(set(keys)) >= 6


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_each_place_alone_and_at_random(scenario: Scenario, tmp_path: Path) -> None:
    count = len(Crashes(scenario, tmp_path / "whole").points)
    seed = int(os.environ.get("SOAK_SEED", random.randrange(10**6)))
    print(f"seed {seed}")
    dice = random.Random(seed)
    numbers = [*range(1, count + 1), *(dice.randint(1, count) for _ in range(50))]
    _, unequal = run_all(scenario, tmp_path, [], numbers)
    assert not unequal, f"seed {seed}"
