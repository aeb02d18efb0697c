"""The fork's ledger as a fold of its stream: dispositions, pin, frontier, closure, days behind, backlog."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

from headway.core.events import Event
from headway.core.events_core import InboxTaken
from headway.core.events_loop import (
    BundleClosed,
    BundleDropped,
    Ejected,
    Hastened,
    LandingUndone,
    MovedOn,
    Probed,
    RequestSeen,
    StoodStill,
    Suspected,
    Waits,
)
from headway.core.events_sync import (
    Attempted,
    ConfigWritten,
    Disposed,
    ForkOpened,
    ForkScanned,
    Kind,
    Landed,
    Reopened,
    RunEnded,
    RunStarted,
    SourceFailed,
    UpstreamSeen,
)
from headway.core.names import BlobId, Digest, Sha
from headway.core.ports.git import Commit
from headway.sync.answers import Answers
from headway.sync.bundle import Bundle

KINDS: tuple[Kind, ...] = get_args(Kind)
SECONDS_A_DAY = 86_400


@dataclass(frozen=True)
class Ledger:
    """Everything the journey needs to decide its next stage. Only `apply` makes new ones."""

    opened: ForkOpened | None = None
    head: Sha | None = None
    counted: int = 0
    """Changes in range as git counted them when upstream was last seen."""
    changes: tuple[Sha, ...] = ()
    dispositions: Mapping[Sha, Disposed] = field(default_factory=dict)
    forced: frozenset[Sha] = frozenset()
    """Changes that a person asked to pick: policy rules do not apply to them."""
    partial_source: BlobId | None = None
    scanned: ForkScanned | None = None
    run: RunStarted | None = None
    refreshed: bool = False
    handled: int = 0
    """Changes that this run has answered (what `adopt` found does not count)."""
    ended: tuple[RunEnded, ...] = ()
    tip: Sha | None = None
    branch_at: Sha | None = None
    bundle: Bundle | None = None
    """What this run is filling or testing; None between landings."""
    last_landing: Sha | None = None
    landings: tuple[Landed, ...] = ()
    undone: frozenset[Sha] = frozenset()
    """Landings that were taken back."""
    waits: Mapping[Sha, tuple[Sha, ...]] = field(default_factory=dict)
    """Deferred change -> the changes of which one must land or be decided before it is tried again by itself."""
    urgent: frozenset[Sha] = frozenset()
    """Changes that go ahead of all others, each on its own."""
    suspects: frozenset[Sha] = frozenset()
    """Changes that are tried alone, because a bundle they were in touched the owner's repository."""
    requests: tuple[RequestSeen, ...] = ()
    """Headway's own pull requests by serial, each as it was last seen."""
    stood_still: StoodStill | None = None
    """The alarm about a frontier that does not move, while it lasts."""
    inbox_taken: int = 0
    config_written: Digest | None = None
    answers: Answers = field(default_factory=Answers)
    """Conflicts put to an agent, and answers from outside the ladder that stand."""

    @property
    def pending(self) -> tuple[Sha, ...]:
        """Changes without a disposition, oldest first."""
        return tuple(change for change in self.changes if change not in self.dispositions)

    @property
    def next_pending(self) -> Sha | None:
        """The change to look at next: the oldest urgent one, else the oldest, that is neither answered nor bundled."""
        bundled = frozenset(self.bundle.changes) if self.bundle is not None else frozenset()
        left = (change for change in self.changes if change not in self.dispositions and change not in bundled)
        if not self.urgent and not (self.run is not None and self.run.urgent_only):
            return next(left, None)
        waiting = tuple(left)
        first = next((change for change in waiting if change in self.urgent), None)
        if first is not None or (self.run is not None and self.run.urgent_only):
            return first
        return next(iter(waiting), None)


def apply(ledger: Ledger, event: Event) -> Ledger:
    """The ledger after one more event of its stream. Pure."""
    if (answers := ledger.answers.after(event)) is not ledger.answers:
        ledger = replace(ledger, answers=answers)
    match event:
        case ForkOpened():
            return replace(ledger, opened=event)
        case UpstreamSeen():
            changes = (*ledger.changes, *event.changes)
            return replace(
                ledger, head=event.head, counted=event.count, changes=changes, partial_source=None, refreshed=True
            )
        case SourceFailed():
            return replace(ledger, partial_source=event.evidence)
        case ForkScanned():
            return replace(ledger, scanned=event)
        case ConfigWritten():
            return replace(ledger, config_written=event.config)
        case InboxTaken():
            return replace(ledger, inbox_taken=event.version)
        case Disposed():
            return _disposed(ledger, event)
        case Reopened():
            return _reopened(ledger, event)
        case _:
            return _in_run(ledger, event)


def _in_run(ledger: Ledger, event: Event) -> Ledger:
    match event:
        case RunStarted():
            at = Sha(event.branch_at) if event.branch_at else None
            fresh = replace(ledger, run=event, refreshed=False, handled=0, bundle=None)
            return replace(fresh, tip=event.tip, branch_at=at)
        case RunEnded():
            return replace(ledger, run=None, bundle=None, ended=(*ledger.ended, event))
        case Attempted():
            bundle = ledger.bundle or Bundle(event.onto)
            return replace(ledger, bundle=bundle.joined(event)) if event.result in ("clean", "resolved") else ledger
        case Landed():
            at = event.commit
            landings = (*ledger.landings, event)
            return replace(ledger, tip=at, branch_at=at, last_landing=at, landings=landings, bundle=None)
        case LandingUndone():
            undone = ledger.undone | {event.landing}
            at = event.tip
            return replace(ledger, tip=at, branch_at=at, last_landing=at, undone=undone, bundle=None)
        case _:
            return _in_loop(ledger, event)


def _in_loop(ledger: Ledger, event: Event) -> Ledger:
    bundle = ledger.bundle
    match event:
        case BundleClosed() if bundle is not None:
            return replace(ledger, bundle=replace(bundle, id=event.bundle))
        case Probed() if bundle is not None:
            return replace(ledger, bundle=replace(bundle, probes=(*bundle.probes, event)))
        case Ejected() | BundleDropped():
            return replace(ledger, bundle=None)
        case Suspected():
            return replace(ledger, suspects=ledger.suspects | set(event.changes))
        case Waits():
            return replace(ledger, waits={**ledger.waits, event.change: event.on})
        case Hastened():
            return replace(ledger, urgent=ledger.urgent | {event.change, *event.needs})
        case RequestSeen():
            earlier = tuple(one for one in ledger.requests if one.serial != event.serial)
            return replace(ledger, requests=(*earlier, event))
        case StoodStill():
            return replace(ledger, stood_still=event)
        case MovedOn():
            return replace(ledger, stood_still=None)
        case _:
            return ledger


def _disposed(ledger: Ledger, event: Disposed) -> Ledger:
    change, bundle = event.change, ledger.bundle
    if bundle is not None and change in bundle.changes:
        bundle = None  # somebody else answered for a member: what was stacked on it no longer holds
    elif bundle is not None and event.by == "run":
        bundle = bundle.with_answer(change)
    return replace(
        ledger,
        dispositions={**ledger.dispositions, change: event},
        forced=ledger.forced - {change},
        urgent=ledger.urgent - {change},
        suspects=ledger.suspects - {change},
        handled=ledger.handled + (event.by in ("run", "policy")),
        bundle=bundle,
    )


def _reopened(ledger: Ledger, event: Reopened) -> Ledger:
    kept = {change: old for change, old in ledger.dispositions.items() if change != event.change}
    waits = {change: on for change, on in ledger.waits.items() if change != event.change}
    forced = ledger.forced | {event.change} if event.forced else ledger.forced
    taken_back = event.by == "run" and ledger.handled > 0
    return replace(ledger, dispositions=kept, forced=forced, waits=waits, handled=ledger.handled - taken_back)


def pin_of(ledger: Ledger) -> Sha | None:
    """The last change up to which everything is settled (no deferral, nothing pending); the base if none."""
    return _last(ledger, lambda found: found is not None and found.kind != "deferred")


def frontier_of(ledger: Ledger) -> Sha | None:
    """The last change up to which everything has a disposition; the base if none."""
    return _last(ledger, lambda found: found is not None)


@dataclass(frozen=True)
class Closure:
    """Changes in range = dispositions + pending, by three independent counts; `faults` says what does not add up."""

    in_range: int
    counts: Mapping[Kind, int]
    pending: int
    claimed: int
    """How many of the dispositions rest on somebody's words only."""
    faults: tuple[str, ...]

    @property
    def closed(self) -> bool:
        """True when the sums agree."""
        return not self.faults

    def line(self) -> str:
        """The sum as a person reads it."""
        parts = [f"{count} {kind}" for kind, count in self.counts.items() if count] + [f"{self.pending} pending"]
        return f"{self.in_range} changes in range = {' + '.join(parts)}"


def closure_of(ledger: Ledger, line: Sequence[Sha]) -> Closure:
    """Check the ledger against `line`, the range as git reads it now (base..head, first parents)."""
    known = set(ledger.changes)
    strangers = [change for change in ledger.dispositions if change not in known]
    counts: dict[Kind, int] = dict.fromkeys(KINDS, 0)
    for found in ledger.dispositions.values():
        counts[found.kind] += 1
    faults = [f"{change[:12]} has a disposition but is not in range" for change in strangers]
    if len(known) != len(ledger.changes):
        faults.append("the ledger holds a change twice")
    if tuple(line) != ledger.changes:
        faults.append(f"git counts {len(line)} changes in range, the ledger holds {len(ledger.changes)}")
    if ledger.counted != len(ledger.changes):
        faults.append(f"upstream was seen with {ledger.counted} changes, the ledger holds {len(ledger.changes)}")
    pending = len(ledger.pending)
    if sum(counts.values()) + pending != len(line):
        faults.append(f"{sum(counts.values())} dispositions + {pending} pending are not {len(line)}")
    claimed = sum(found.grade == "claimed" for found in ledger.dispositions.values())
    return Closure(len(line), counts, pending, claimed, tuple(faults))


@dataclass(frozen=True)
class Lag:
    """`days_behind` measures progress, `backlog` debt; neither is shown without the other."""

    days_behind: float
    commits_behind: int
    backlog: int
    oldest_deferral: Sha | None
    oldest_deferral_days: float
    """Days since that change reached upstream."""


def lag_of(ledger: Ledger, base: Commit, line: Sequence[Commit], now: float) -> Lag:
    """`line` is the range oldest first, `now` seconds since the epoch."""
    dates = {base.sha: base.committed, **{commit.sha: commit.committed for commit in line}}
    frontier = frontier_of(ledger) or base.sha
    head = line[-1].committed if line else base.committed
    passed = [commit.sha for commit in line].index(frontier) + 1 if frontier != base.sha else 0
    deferred = [c for c in ledger.changes if (d := ledger.dispositions.get(c)) is not None and d.kind == "deferred"]
    behind = [c for c in ledger.changes[passed:] if c not in ledger.dispositions]
    oldest = min(deferred, key=lambda c: dates[c]) if deferred else None
    return Lag(
        days_behind=max(0.0, (head - dates[frontier]) / SECONDS_A_DAY),
        commits_behind=len(behind),
        backlog=len(deferred),
        oldest_deferral=oldest,
        oldest_deferral_days=(now - dates[oldest]) / SECONDS_A_DAY if oldest else 0.0,
    )


def _last(ledger: Ledger, settled: Callable[[Disposed | None], bool]) -> Sha | None:
    at = ledger.opened.base if ledger.opened else None
    for change in ledger.changes:
        if not settled(ledger.dispositions.get(change)):
            break
        at = change
    return at
