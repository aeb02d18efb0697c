"""`make soak`: a real campaign, detached, killed again and again, stopped and started; nothing counted twice."""

from pathlib import Path

import pytest

from benchmarks.long_campaign import board, campaign, headway, summary

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]


def test_a_real_campaign_under_kills(tmp_path: Path) -> None:
    campaign(tmp_path, minutes=5, evaluations=60, kills=5, seed=7)
    found, shown = summary(tmp_path), board(tmp_path / "campaign")
    assert found["kills"] == 5 and found["counted_twice"] == 0
    assert found["attempts"] >= 60 and shown["spent"]["attempts"] == len(shown["attempts"])
    assert shown["end"]["state"] == "stopped" and found["verdicts"].get("promoted", 0) >= 1
    assert (tmp_path / "report.html").stat().st_size > 10_000
    headway("tune", "replay", str(tmp_path / "campaign"))  # raises where a context is rendered differently
    headway("log", "verify", "--state", str(tmp_path / "campaign" / ".headway"))
