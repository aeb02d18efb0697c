"""A landing that is killed anywhere is made once: on trunk itself, by pull request, and when it is taken back.

In the suite one process is killed between the branch's move and its record (for requests tests/sync has that); `make
soak` kills at every failpoint, alone and in chains.
"""

from pathlib import Path

import pytest

from tests.kill.crash import Crashes, Scenario
from tests.kill.landing_scenarios import DIRECT, REQUEST, UNDO, smaller

SCENARIOS = {"direct": DIRECT, "pull-request": REQUEST, "undo": UNDO}


@pytest.mark.parametrize("name", ["direct", "undo"])
def test_a_kill_between_the_branchs_move_and_its_record_changes_nothing(name: str, tmp_path: Path) -> None:
    crashes = Crashes(smaller(SCENARIOS[name]), tmp_path)
    moved = [kind for kind, _ in crashes.points].index("git.update-ref.after") + 1
    trial = crashes.alone(moved)
    assert [kind for kind, _ in trial.deaths] == ["git.update-ref.after"]
    assert trial.picture == crashes.expected


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_a_kill_anywhere_changes_nothing(
    scenario: Scenario, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    crashes = Crashes(scenario, tmp_path)
    trials = {f"alone {number}": crashes.alone(number) for number in range(1, len(crashes.points) + 1)}
    trials |= {f"chain {seed}": crashes.chain(seed) for seed in range(8)}
    with capsys.disabled():
        kinds = ", ".join(f"{n} {kind}" for kind, n in crashes.kinds().most_common())
        deaths = sum(len(trial.deaths) for trial in trials.values())
        print(f"\n{scenario.name}: {len(crashes.points)} failpoints ({kinds}); {deaths} kills")
    assert not [name for name, trial in trials.items() if trial.picture != crashes.expected]
