"""`validate watch` killed anywhere: it goes on where it was, nobody is told twice, and no run counts twice."""

import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kill.crash import Crashes
from tests.kill.watch_scenario import github_server, watch_scenario

BOTH = '["unit", "speed"]'


@pytest.fixture
def crashes(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Crashes]:
    with github_server(tmp_path / "place" / "forge") as url:
        yield Crashes(watch_scenario(url, *getattr(request, "param", ())), tmp_path)


@pytest.mark.timeout(300)
def test_a_watch_killed_anywhere_goes_on_and_does_nothing_twice(crashes: Crashes) -> None:
    """Where the world was touched and nothing recorded of it yet, alone; other places in a chain of kills."""
    [issue] = crashes.expected["issues"].values()
    assert issue["state"] == "closed" and len(issue["comments"]) == 1 and "culprit" in issue["body"]
    counted = Counter(kind for kind, _ in crashes.expected["log"]["validation/toy"])
    assert counted["validate.tier_begun.v1"] == counted["validate.tier_ended.v1"] == 3
    assert counted["validate.suite_reported.v1"] == 3 and counted["validate.issue_filed.v1"] == 1

    told = [number for number, (kind, _) in enumerate(crashes.points, 1) if kind == "forge.after"]
    ran = [number for number, (kind, _) in enumerate(crashes.points, 1) if kind == "executor.after"]
    assert len(told) == 2 and len(ran) >= 10, "a suite run for the tier, the triage, the search"
    trials = [crashes.chain(0, kills=8), *(crashes.alone(number) for number in (*told, ran[-2]))]
    for trial in trials:
        assert trial.picture == crashes.expected, trial.deaths
    assert len(trials[0].deaths) == 8


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("crashes", [(BOTH,)], indirect=True, ids=["both suites"])
def test_each_place_alone_and_at_random(crashes: Crashes) -> None:
    seed = int(os.environ.get("SOAK_SEED", random.randrange(10**6)))
    trials = {f"alone {number}": crashes.alone(number) for number in range(1, len(crashes.points) + 1)}
    trials |= {f"chain {seed + number}": crashes.chain(seed + number) for number in range(10)}
    print(f"seed {seed}: {len(crashes.points)} failpoints, {crashes.kinds()}")
    assert [name for name, trial in trials.items() if trial.picture != crashes.expected] == [], f"seed {seed}"
