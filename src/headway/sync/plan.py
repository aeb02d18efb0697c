"""`plan`: what is pending, and what a run would do with each, from trial picks stacked in memory. Writes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from headway.core.names import Sha
from headway.core.ports.git import Commit
from headway.sync.accounting import Ledger
from headway.sync.history import pull_request_of
from headway.sync.triage import Assessment, Decided, Ready, Triage, trial_word


@dataclass(frozen=True)
class Forecast:
    """One pending change and what a run would do with it now: `take` it to L1, or give it that disposition."""

    commit: Commit
    assessment: Assessment

    @property
    def would(self) -> str:
        """`take`, or the disposition with its reason in brackets."""
        match self.assessment:
            case Ready():
                return "take"
            case Decided(kind=kind, reason=reason):
                return f"{kind}({reason})"

    def to_json(self) -> dict[str, Any]:
        """For `plan --json`."""
        facts = self.assessment.facts
        return {
            "change": self.commit.sha,
            "subject": self.commit.subject,
            "date": day_of(self.commit.committed),
            "pr": pull_request_of(self.commit),
            "trial": trial_word(self.assessment),
            "would": self.would,
            "conflicts": facts.get("paths", []) if trial_word(self.assessment) == "conflict" else [],
        }


def forecasts(triage: Triage, ledger: Ledger, tip: Sha, *, limit: int = 0) -> Iterator[Forecast]:
    """Pending changes in order, each tried on top of the clean ones before it, as a run with a green L1 would."""
    pending = [change for change in triage.line.shas if change not in ledger.dispositions]
    open_changes = set(pending)
    absent = {change for change, found in ledger.dispositions.items() if found.kind == "deferred"}
    onto: str = tip
    for at, change in enumerate(pending):
        if limit and at >= limit:
            return
        if change not in open_changes:
            continue
        answer = triage.assess(
            change,
            onto,
            pending=frozenset(open_changes),
            absent=frozenset(absent),
            forced=change in ledger.forced,
            then=next((later for later in pending[at + 1 :] if later in open_changes), None),
        )
        yield Forecast(triage.commits[change], answer)
        open_changes.discard(change)
        if isinstance(answer, Ready):
            onto = answer.tree
        elif answer.partner is not None and answer.partner in open_changes:
            open_changes.discard(answer.partner)
            yield Forecast(triage.commits[answer.partner], answer)
        elif answer.kind == "deferred":
            absent.add(change)


def day_of(seconds: int) -> str:
    """A commit date as `2026-08-20`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
