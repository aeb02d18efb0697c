"""The soak of `benchmarks.soak`, small: twelve generated changes, two kills, a flaky suite."""

from pathlib import Path

import pytest

from benchmarks.soak import soak


@pytest.mark.timeout(900)
def test_a_small_soak_lands_what_is_right_and_nothing_else(tmp_path: Path) -> None:
    found = soak(tmp_path / "soak", changes=12, seed=41, kills=2)
    assert (found["wrong"], found["bad_landings"], found["pending"]) == (0, 0, 0)
    assert found["closed_every_step"] and found["trunk_green"] and found["kills"] == 2
    truth = [row.split("\t") for row in (tmp_path / "soak/truth.tsv").read_text().splitlines()[1:]]
    assert len(truth) == 12 and {"clean", "bad", "first", "pair", "conflict", "policy"} <= {row[2] for row in truth}
    assert len((tmp_path / "soak/kills.jsonl").read_text().splitlines()) == 2
