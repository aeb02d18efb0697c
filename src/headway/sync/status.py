"""`status`: where the fork stands, and the proof that the accounting closes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.core.config import Config
from headway.core.events import Event
from headway.core.names import Sha
from headway.core.ports.git import Commit
from headway.sync.accounting import Closure, Lag, Ledger, closure_of, frontier_of, lag_of, pin_of
from headway.sync.metrics import Metrics, lines_of, metrics_of, to_json
from headway.sync.plan import day_of
from headway.sync.watching import Alarm, alarm_of

STATUS_SCHEMA = "headway.status/1"


@dataclass(frozen=True)
class Status:
    """Everything that `status` prints."""

    ledger: Ledger
    config: Config
    notes: tuple[str, ...]
    closure: Closure
    lag: Lag
    dates: Mapping[Sha, int]
    branch_at: Sha | None
    metrics: Metrics
    alarm: Alarm | None

    def to_json(self) -> dict[str, Any]:
        """For `status --json`."""
        ledger, lag, closure, opened = self.ledger, self.lag, self.closure, self.ledger.opened
        assert opened is not None
        oldest = {"change": lag.oldest_deferral, "days": round(lag.oldest_deferral_days, 1)}
        return {
            "schema": STATUS_SCHEMA,
            "fork": self.config.fork.id,
            "trunk": self.config.fork.trunk,
            "upstream": {"url": opened.upstream, "branch": opened.branch, "source": self._source()},
            "config": {"source": self.config.source, "digest": self.config.digest, "notes": list(self.notes)},
            "range": {"base": opened.base, "head": ledger.head, "changes": closure.in_range},
            "dispositions": dict(closure.counts),
            "pending": closure.pending,
            "claimed": closure.claimed,
            "closed": closure.closed,
            "closure": closure.line(),
            "faults": list(closure.faults),
            "pin": self._at(pin_of(ledger)),
            "frontier": self._at(frontier_of(ledger)),
            "days_behind": round(lag.days_behind, 2),
            "commits_behind": lag.commits_behind,
            "backlog": lag.backlog,
            "oldest_deferral": oldest if lag.oldest_deferral else None,
            "landing": {"mode": self.config.landing.mode, "branch": self.branch, "at": self.branch_at},
            "request": self._request(),
            "metrics": to_json(self.metrics),
            "alarm": self.alarm.line() if self.alarm is not None else None,
            "liveness": self._liveness(),
            "run": self._run(),
        }

    def lines(self) -> list[str]:
        """For people."""
        facts = self.to_json()
        lag, oldest = self.lag, ""
        if lag.oldest_deferral:
            oldest = f", the oldest ({lag.oldest_deferral[:12]}) {lag.oldest_deferral_days:.0f} days old"
        upstream = facts["upstream"]
        source = "" if self._source() == "complete" else "   partial source: the last refresh failed"
        closed = "closed" if self.closure.closed else "NOT CLOSED: " + "; ".join(self.closure.faults)
        claimed = f"   ({self.closure.claimed} of them claimed, not proven)" if self.closure.claimed else ""
        return [
            f"fork         {self.config.fork.id} (trunk {self.config.fork.trunk})",
            f"upstream     {upstream['url']} {upstream['branch']} at {self._shown(self.ledger.head)}{source}",
            f"config       {self.config.source} sha256 {self.config.digest[:12]}",
            *(f"             {note}" for note in self.notes),
            f"days behind  {lag.days_behind:.1f}",
            f"commits behind  {lag.commits_behind}",
            f"backlog      {lag.backlog} deferred{oldest}",
            f"pin          {self._shown(pin_of(self.ledger))}",
            f"frontier     {self._shown(frontier_of(self.ledger))}",
            f"landing      {self.branch} at {(self.branch_at or 'nothing yet')[:12]}",
            *self._request_lines(),
            f"accounting   {self.closure.line()}: {closed}{claimed}",
            *lines_of(self.metrics),
            f"run          {self._run()}",
            *([self.alarm.line()] if self.alarm is not None else []),
        ]

    @property
    def branch(self) -> str:
        """Where landings go."""
        landing = self.config.landing
        return self.config.fork.trunk if landing.mode == "direct" else landing.branch

    def _request(self) -> dict[str, Any] | None:
        if not self.ledger.requests:
            return None
        last = self.ledger.requests[-1]
        facts = {"number": last.number, "url": last.url, "state": last.state, "head": last.head}
        return facts | {"checks": last.checks, "mergeable": last.mergeable, "merged_as": last.merged_as or None}

    def _request_lines(self) -> list[str]:
        if not self.ledger.requests:
            return []
        last = self.ledger.requests[-1]
        more = f", checks {last.checks}, mergeable {last.mergeable}" if last.state == "open" else ""
        return [f"request      {last.url} {last.state}{more}"]

    def _liveness(self) -> dict[str, Any]:
        """Whether the frontier stands still while commits wait; `issue`: where people were told."""
        told = self.ledger.stood_still
        since = self.alarm.to_json() if self.alarm is not None else dict.fromkeys(("hours", "since", "waiting"))
        issue = (told.issue or None) if told is not None else None
        limit = self.config.watch.alarm_hours
        return {"stands_still": self.alarm is not None, "alarm_hours": limit, **since, "issue": issue}

    def _source(self) -> str:
        return "partial" if self.ledger.partial_source else "complete"

    def _run(self) -> str:
        if self.ledger.run is not None:
            return "interrupted or going on: `headway sync run` goes on with it"
        if not self.ledger.ended:
            return "none yet"
        last = self.ledger.ended[-1]
        return f"{last.outcome}({last.reason})" if last.reason else last.outcome

    def _at(self, sha: Sha | None) -> dict[str, Any] | None:
        return None if sha is None else {"change": sha, "date": day_of(self.dates[sha])}

    def _shown(self, sha: Sha | None) -> str:
        return "nothing" if sha is None else f"{sha[:12]} ({day_of(self.dates[sha])})"


def status_of(
    ledger: Ledger,
    config: Config,
    notes: tuple[str, ...],
    base: Commit,
    line: Sequence[Commit],
    branch_at: Sha | None,
    now: float,
    records: Iterable[tuple[str, Event]] = (),
) -> Status:
    """`line` is the range as git reads it now, `now` seconds since the epoch, `records` the ledger with time stamps."""
    closure = closure_of(ledger, [commit.sha for commit in line])
    dates = {commit.sha: commit.committed for commit in (base, *line)}
    metrics = metrics_of(records, base, line, now)
    alarm = alarm_of(metrics.series, now, config.watch.alarm_hours)
    return Status(ledger, config, notes, closure, lag_of(ledger, base, line, now), dates, branch_at, metrics, alarm)
