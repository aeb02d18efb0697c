"""The search: right under noise, honest about flakes and outages, and the same after a kill as without one."""

import random
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from headway.adapters.clocks import HandClock
from headway.adapters.memory_log import MemoryLog
from headway.core.events import decode
from headway.core.events_validate import CulpritFound, CulpritProbed
from headway.core.journey import drive
from headway.core.names import BlobId, Sha, StreamId
from headway.validate.culprit import Answer, Outcome, Rules, Seen, next_step
from headway.validate.culprit_run import landings, search_journey

World = Callable[[int, int], Outcome]
"""(commit index, number of the probe in time) -> outcome."""


def search(commits: int, world: World, rules: Rules | None = None) -> tuple[Answer, list[Seen]]:
    seen: list[Seen] = []
    while True:
        step = next_step(commits, seen, rules or Rules())
        if isinstance(step, Answer):
            return step, seen
        seen.append(Seen(step.index, world(step.index, len(seen)), step.purpose))


def rates(culprit: int, new: float, old: float, seed: int = 0) -> World:
    dice = random.Random(seed)
    return lambda index, _: "failed" if dice.random() < (new if index <= culprit else old) else "passed"


@pytest.mark.parametrize("culprit", [0, 1, 17, 62, 63])
def test_a_clean_break_is_found_and_verified_on_both_sides(culprit: int) -> None:
    answer, seen = search(64, rates(culprit, 1.0, 0.0))
    assert (answer.kind, answer.suspects) == ("culprit", (culprit,)) and answer.posterior >= 0.95
    verified = [one for one in seen if one.purpose == "verify"]
    assert 4 <= len(verified) <= 8
    assert {one.index for one in verified} >= {culprit, culprit + 1, 0, 64}, "inside, outside, newest, oldest"
    assert len(seen) <= 25


def test_story_15_a_rare_failure_that_became_common() -> None:
    """0.05 -> 0.9 at commit 37: found with 95 % confidence in about 25 runs."""
    runs = []
    for seed in range(10):
        answer, seen = search(64, rates(37, 0.9, 0.05, seed))
        assert answer.suspects == (37,), seed
        runs.append(len(seen))
    assert sum(runs) / len(runs) <= 28, runs


def test_story_15_a_test_that_fails_now_and_then_everywhere_is_a_flake() -> None:
    answer, _ = search(64, rates(0, 0.08, 0.08, seed=5))
    assert (answer.kind, answer.suspects) == ("flake", ())


def test_commits_that_do_not_build_are_passed_over_and_stay_suspects() -> None:
    """Of 40 commits, 10 to 14 do not build and 12 is guilty: what cannot be told apart is named together."""

    def world(index: int, _: int) -> Outcome:
        if 10 <= index <= 14:
            return "unbuildable"
        return "failed" if index <= 12 else "passed"

    answer, seen = search(40, world)
    assert answer.kind == "culprit" and answer.suspects == (9, 10, 11, 12, 13, 14)
    assert sum(one.outcome == "unbuildable" for one in seen) <= 5


def test_a_test_born_red_is_said_to_be() -> None:
    answer, _ = search(32, lambda index, _: "failed" if index <= 7 else "absent")
    assert (answer.kind, answer.suspects) == ("born_red", (7,))


def test_an_outage_in_time_does_not_make_a_culprit() -> None:
    """Probes 6 to 14 all fail, whatever the commit; the real culprit is 20."""

    def world(index: int, place: int) -> Outcome:
        return "failed" if 6 <= place < 15 or index <= 20 else "passed"

    answer, seen = search(64, world)
    assert (answer.kind, answer.suspects) == ("culprit", (20,)), answer
    assert any(one.purpose == "control" and one.outcome == "failed" for one in seen)


def test_an_outage_without_an_end_is_infrastructure() -> None:
    assert (
        search(64, lambda index, place: "failed" if place > 3 or index <= 5 else "passed")[0].kind == "infrastructure"
    )
    assert search(64, lambda *_: "infrastructure")[0].kind == "infrastructure"


def test_two_culprits_and_the_answer_is_one_of_them() -> None:
    dice = random.Random(3)

    def world(index: int, _: int) -> Outcome:
        rate = 1.0 if index <= 10 else 0.5 if index <= 40 else 0.0
        return "failed" if dice.random() < rate else "passed"

    answer, _ = search(64, world)
    assert answer.kind == "culprit" and answer.suspects[0] in (10, 40)


def test_a_range_of_one_commit() -> None:
    answer, _ = search(1, rates(0, 1.0, 0.0))
    assert (answer.kind, answer.suspects) == ("culprit", (0,))


def test_without_a_decision_it_says_so() -> None:
    answer, seen = search(64, rates(30, 0.5, 0.05, seed=1), Rules(max_runs=8))
    assert answer.kind in ("undecided", "flake") and len(seen) <= 9


def test_without_verification_it_is_git_bayesects_search() -> None:
    from git_bayesect import Bisector

    for seed in range(3):
        world, peer_world = rates(11, 0.9, 0.05, seed), rates(11, 0.9, 0.05, seed)
        peer, runs = Bisector([1.0] * 64), 0
        while peer.distribution.max() < 0.95:
            index = peer.select()
            peer.record(index, peer_world(index, runs) == "failed")
            runs += 1
        answer, seen = search(64, world, Rules(verify=False))
        assert answer.suspects == (int(peer.distribution.argmax()),) and abs(len(seen) - runs) <= 3


class Interrupted(BaseException):
    """Stands for a kill inside a probe."""


@pytest.mark.parametrize("killed_at", [0, 1, 5, 9])
def test_a_killed_search_goes_on_and_counts_no_probe_twice(killed_at: int) -> None:
    home = StreamId("validation/x.culprit.1")
    commits = [Sha(f"{n:040d}") for n in range(32)]
    calls: list[Sha] = []

    def probe(commit: Sha) -> tuple[Outcome, BlobId]:
        calls.append(commit)
        if len(calls) == killed_at + 1 and not interrupted:
            interrupted.append(True)
            raise Interrupted
        return ("failed" if int(commit) <= 13 else "passed"), BlobId("sha256:0")

    def events(log: MemoryLog) -> list[object]:
        decoded = (decode(record.type, record.payload) for record in log.read(home))
        return [event for event in decoded if isinstance(event, CulpritProbed | CulpritFound)]

    interrupted: list[bool] = []
    journey = search_journey(home, commits, Sha("9" * 40), Rules(), probe)
    log = MemoryLog(HandClock(datetime(2026, 1, 1, tzinfo=UTC)))
    with pytest.raises(Interrupted):
        drive(journey, log)
    found = drive(journey, log).found
    assert found is not None and found.suspects == (commits[13],)
    undisturbed = MemoryLog(HandClock(datetime(2026, 1, 1, tzinfo=UTC)))
    drive(journey, undisturbed)
    assert events(log) == events(undisturbed)


def test_landings_keep_bundles_together() -> None:
    a, b, c, d, e = (Sha(letter * 40) for letter in "abcde")
    bundle = {b: "B1", c: "B1", d: "B2"}
    assert landings([a, b, c, d, e], lambda sha: bundle.get(sha, "")) == ((a,), (b, c), (d,), (e,))
