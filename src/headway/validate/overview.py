"""Everything the validate room knows, folded from its stream: what `validate show` shows. Pure."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from headway.core.events import Event
from headway.core.events_validate import OwnerTouched
from headway.core.events_validate_tiers import (
    CulpritAnswered,
    FindingTriaged,
    FixTried,
    HarnessCanaried,
    IssueClosed,
    IssueFiled,
    Promoted,
    QuorumTaken,
    SignoffApproved,
    SignoffRan,
    SignoffRefused,
    SignoffRequested,
    SignoffRevoked,
    SuiteLeftOut,
    SuiteReported,
    TierBegun,
    TierEnded,
    WaiverGranted,
    WaiverUsed,
)
from headway.core.names import Sha


@dataclass
class Failure:
    """One signature: its newest triage and answer, its issue while one is open, how often it was seen since when."""

    found: FindingTriaged
    first: datetime
    last: datetime
    times: int = 1
    answer: CulpritAnswered | None = None
    issue: IssueFiled | None = None
    closed: IssueClosed | None = None
    fix: FixTried | None = None
    """The newest proposal that passed."""


@dataclass
class Request:
    """One request for sign-off and what became of it."""

    asked: SignoffRequested
    approved: SignoffApproved | None = None
    revoked: SignoffRevoked | None = None
    ran: SignoffRan | None = None
    refusals: list[SignoffRefused] = field(default_factory=list)


@dataclass
class Overview:
    """Feed it every record's time and event, in order. Nothing here is written by hand."""

    begun: dict[str, tuple[datetime, TierBegun]] = field(default_factory=dict)
    ended: dict[str, tuple[datetime, TierEnded]] = field(default_factory=dict)
    left_out: dict[str, list[SuiteLeftOut]] = field(default_factory=lambda: defaultdict(list))
    """By run."""
    reports: dict[str, dict[str, tuple[datetime, SuiteReported]]] = field(default_factory=lambda: defaultdict(dict))
    """By suite and run."""
    flights: dict[str, list[tuple[datetime, HarnessCanaried]]] = field(default_factory=lambda: defaultdict(list))
    quorums: dict[str, tuple[datetime, QuorumTaken]] = field(default_factory=dict)
    waivers: list[WaiverGranted] = field(default_factory=list)
    waived: list[tuple[datetime, WaiverUsed]] = field(default_factory=list)
    failures: dict[str, Failure] = field(default_factory=dict)
    requests: dict[str, Request] = field(default_factory=dict)
    promoted: tuple[datetime, Promoted] | None = None
    touched: list[tuple[datetime, OwnerTouched]] = field(default_factory=list)

    def take(self, told: Iterable[tuple[datetime, Event]]) -> "Overview":
        """The same overview, richer by these facts."""
        for when, event in told:
            self._take_tiers(when, event)
            self._take_failures(when, event)
            self._take_signoff(when, event)
        return self

    def _take_tiers(self, when: datetime, event: Event) -> None:
        if isinstance(event, TierBegun):
            self.begun[event.tier] = when, event
        elif isinstance(event, TierEnded):
            self.ended[event.tier] = when, event
        elif isinstance(event, SuiteLeftOut):
            self.left_out[event.run].append(event)
        elif isinstance(event, SuiteReported):
            self.reports[event.suite].setdefault(event.run, (when, event))
        elif isinstance(event, HarnessCanaried):
            self.flights[event.suite].append((when, event))
        elif isinstance(event, QuorumTaken):
            self.quorums[event.quorum] = when, event
        elif isinstance(event, OwnerTouched):
            self.touched.append((when, event))

    def _take_failures(self, when: datetime, event: Event) -> None:
        if isinstance(event, WaiverGranted):
            self.waivers.append(event)
        elif isinstance(event, WaiverUsed):
            self.waived.append((when, event))
        elif isinstance(event, FindingTriaged):
            known = self.failures.get(event.signature)
            if known is None or known.closed is not None:
                self.failures[event.signature] = Failure(event, when, when)
            else:
                known.found, known.last, known.times = event, when, known.times + 1
        elif isinstance(event, CulpritAnswered) and event.signature in self.failures:
            self.failures[event.signature].answer = event
        elif isinstance(event, IssueFiled) and event.signature in self.failures:
            self.failures[event.signature].issue = event
        elif isinstance(event, FixTried) and event.signature in self.failures and event.verdict == "passed":
            self.failures[event.signature].fix = event
        elif isinstance(event, IssueClosed) and event.signature in self.failures:
            self.failures[event.signature].closed = event

    def _take_signoff(self, when: datetime, event: Event) -> None:
        if isinstance(event, SignoffRequested):
            self.requests[event.request] = Request(event)
        elif isinstance(event, SignoffApproved):
            self.requests[event.request].approved = event
        elif isinstance(event, SignoffRefused) and event.request in self.requests:
            self.requests[event.request].refusals.append(event)
        elif isinstance(event, SignoffRevoked):
            self.requests[event.request].revoked = event
        elif isinstance(event, SignoffRan):
            self.requests[event.request].ran = event
        elif isinstance(event, Promoted):
            self.promoted = when, event

    # --- questions

    def tier_begun(self, tier: str) -> datetime | None:
        """When a run of the tier last began."""
        return self.begun[tier][0] if tier in self.begun else None

    def tier_ended(self, tier: str) -> datetime | None:
        """When a run of the tier last came to its end."""
        return self.ended[tier][0] if tier in self.ended else None

    def interrupted(self, tier: str) -> bool:
        """Whether the newest run of the tier has no end yet."""
        if tier not in self.begun:
            return False
        return tier not in self.ended or self.ended[tier][1].run != self.begun[tier][1].run

    def reported(self, suite: str) -> datetime | None:
        """When a report of the suite last came in; runs for a sign-off do not count."""
        mine = [when for when, one in self.reports[suite].values() if not one.purpose.startswith("request")]
        return max(mine, default=None)

    def canaried(self, suite: str) -> datetime | None:
        """When the suite's harness was last shown known-bad changes."""
        return self.flights[suite][-1][0] if self.flights[suite] else None

    def green_on(self, tier: str, revision: Sha) -> bool:
        """Whether the tier's newest run on exactly this revision was green."""
        found = self.ended.get(tier)
        return found is not None and found[1].revision == revision and found[1].verdict == "green"

    def past(self, suite: str) -> list[SuiteReported]:
        """Every report of a suite, in the order they came in."""
        return [one for _, one in self.reports[suite].values()]

    def gpu_hours(self) -> dict[str, float]:
        """The ledger: by change (`request <id> <revision>`), tier and search."""
        spent: dict[str, float] = defaultdict(float)
        for runs in self.reports.values():
            for _, one in runs.values():
                spent[one.purpose or f"reported {one.suite}"] += one.gpu_hours
        for failure in self.failures.values():
            spent[f"search {failure.found.signature}"] += failure.found.gpu_hours
            spent[f"search {failure.found.signature}"] += failure.answer.gpu_hours if failure.answer else 0.0
        return {name: round(hours, 6) for name, hours in sorted(spent.items()) if hours}
