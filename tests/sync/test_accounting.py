"""The ledger's fold: pin, frontier, lag, and a closure that notices what does not add up."""

from dataclasses import replace

from headway.core.events import Event
from headway.core.events_sync import Disposed, ForkOpened, Kind, Reopened, UpstreamSeen
from headway.core.names import BlobId, Sha, TreeId
from headway.core.ports.git import Commit
from headway.sync.accounting import Ledger, apply, closure_of, frontier_of, lag_of, pin_of

BASE = Sha("b" * 40)
CHANGES = tuple(Sha(digit * 40) for digit in "12345")
NO_EVIDENCE = BlobId("sha256:" + "0" * 64)


def disposed(number: int, kind: Kind) -> Disposed:
    return Disposed(CHANGES[number - 1], kind, "run", "proven", "x", NO_EVIDENCE)


def ledger(*events: Event) -> Ledger:
    state = Ledger()
    for event in (ForkOpened("main", BASE, "u", "main"), UpstreamSeen(CHANGES[-1], 5, CHANGES), *events):
        state = apply(state, event)
    return state


def commit(sha: Sha, day: int) -> Commit:
    return Commit(sha, TreeId("t" * 40), (), b"", b"C <c> %d +0000" % (day * 86_400), b"")


LINE = tuple(commit(sha, day) for day, sha in enumerate(CHANGES, 1))


def test_nothing_answered() -> None:
    start = ledger()
    assert pin_of(start) == frontier_of(start) == BASE
    lag = lag_of(start, commit(BASE, 0), LINE, now=6 * 86_400)
    assert (lag.days_behind, lag.commits_behind, lag.backlog, lag.oldest_deferral) == (5.0, 5, 0, None)


def test_a_deferral_holds_the_pin_and_not_the_frontier() -> None:
    now = ledger(disposed(1, "picked"), disposed(2, "deferred"), disposed(3, "wont_port"))
    assert pin_of(now) == CHANGES[0] and frontier_of(now) == CHANGES[2]
    lag = lag_of(now, commit(BASE, 0), LINE, now=10 * 86_400)
    assert (lag.days_behind, lag.commits_behind, lag.backlog) == (2.0, 2, 1)
    assert (lag.oldest_deferral, lag.oldest_deferral_days) == (CHANGES[1], 8.0)


def test_an_urgent_pick_ahead_does_not_move_the_frontier() -> None:
    now = ledger(disposed(1, "picked"), disposed(4, "picked"))
    assert frontier_of(now) == CHANGES[0]
    lag = lag_of(now, commit(BASE, 0), LINE, now=0)
    assert (lag.days_behind, lag.commits_behind) == (4.0, 3)


def test_deferring_everything_is_no_days_behind_and_all_backlog() -> None:
    now = ledger(*(disposed(n, "deferred") for n in range(1, 6)))
    lag = lag_of(now, commit(BASE, 0), LINE, now=5 * 86_400)
    assert (lag.days_behind, lag.backlog, pin_of(now)) == (0.0, 5, BASE)


def test_the_sum_closes_and_says_so() -> None:
    now = ledger(disposed(1, "picked"), disposed(2, "deferred"))
    closure = closure_of(now, CHANGES)
    assert closure.closed and closure.line() == "5 changes in range = 1 picked + 1 deferred + 3 pending"


def test_every_kind_of_hole_is_a_fault() -> None:
    now = ledger(disposed(1, "picked"))
    assert not closure_of(now, CHANGES[:4]).closed, "git sees fewer than the ledger"
    assert not closure_of(now, (*CHANGES, Sha("6" * 40))).closed, "git sees more"
    assert not closure_of(now, tuple(reversed(CHANGES))).closed, "in another order"
    assert not closure_of(replace(now, counted=4), CHANGES).closed, "counted otherwise when it was seen"
    assert not closure_of(replace(now, changes=(*CHANGES, CHANGES[0])), CHANGES).closed, "twice"
    stranger = replace(now, dispositions={**now.dispositions, Sha("9" * 40): disposed(1, "picked")})
    assert "not in range" in closure_of(stranger, CHANGES).faults[0]


def test_an_answer_taken_back_is_pending_again_and_counts_once() -> None:
    now = ledger(disposed(1, "deferred"), Reopened(CHANGES[0], "person", NO_EVIDENCE))
    assert now.next_pending == CHANGES[0] and closure_of(now, CHANGES).pending == 5
    again = apply(now, disposed(1, "picked"))
    assert closure_of(again, CHANGES).counts["picked"] == 1 and closure_of(again, CHANGES).counts["deferred"] == 0


def test_claims_are_counted_apart() -> None:
    claim = replace(disposed(1, "picked"), grade="claimed", by="adopt")
    assert closure_of(ledger(claim), CHANGES).claimed == 1
