"""Whose turn it is: every variant once a round, behind changing predecessors."""

import pytest

pytest.importorskip("torch")

from headway.tasks import timing


def test_the_order_is_rotated_and_turned(monkeypatch):
    called = []
    monkeypatch.setattr(timing, "timed", lambda call, cover=0: call() or 1.0)
    monkeypatch.setattr(timing, "IDLE", 0.0)
    calls = {name: lambda i, name=name: called.append(name) for name in "abc"}
    samples = timing.in_turns(calls, 4, 0)
    assert "".join(called) == "abcacbcabcba"
    assert samples == {name: [1.0] * 4 for name in "abc"}
