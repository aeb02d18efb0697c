"""`make soak`: a real campaign, detached, killed again and again, stopped and started; nothing counted twice."""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from headway.core.events_tune import JobDone
from headway.core.ports.log import decoded
from headway.tune.campaign import home_of
from headway.wiring import tune as wiring
from headway.wiring import tune_views as views
from headway.wiring.state import open_state

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]


def counted(place: wiring.Place) -> Counter[str]:
    with open_state(place.state, read_only=True) as opened:
        events = decoded(opened.log.read(home_of(place.id)))
        return Counter(event.key for event in events if isinstance(event, JobDone))


def wait_for(place: wiring.Place, jobs: int, seconds: float = 600) -> None:
    end = time.monotonic() + seconds
    while sum(counted(place).values()) < jobs:
        assert time.monotonic() < end, f"no {jobs} evaluations within {seconds:g} s"
        time.sleep(0.2)


@pytest.mark.parametrize(("attempts", "kills"), [(60, 5)])
def test_a_real_campaign_under_kills(
    attempts: int, kills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, map(str, sys.path))))
    options = wiring.RunOptions("search", attempts=attempts, seconds=3600)
    place = wiring.begin("cpu-matmul", options, tmp_path / "c", None)
    chance = random.Random(7)
    pid, _ = views.detach(place)
    for kill in range(1, kills + 1):
        wait_for(place, 2 * kill)
        time.sleep(chance.uniform(0, 1.0))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        pid, _ = views.detach(place)
    wait_for(place, 2 * kills + 2)
    wiring.tell(place, "stop")
    os.waitpid(pid, 0)
    assert wiring.board(place)["end"]["state"] == "stopped"
    pid, words = views.detach(place)
    os.waitpid(pid, 0)
    board = wiring.board(place)
    assert board["end"] == {"state": "budget_spent", "limit": "attempts"}, words.read_text()
    assert board["spent"]["attempts"] == len(board["attempts"]) == attempts
    assert set(counted(place).values()) == {1}
    ratios = [row["ratio"] for row in board["attempts"] if row["verdict"] == "promoted"]
    assert ratios and json.dumps(board["refused"])
    assert views.write_report(place, None).stat().st_size > 10_000
    assert [row for row in views.replayed(place, None) if row.why] == []
