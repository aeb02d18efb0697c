"""What a new campaign is told of an earlier one on the same task: outcomes, as evidence. Pure, given texts of blobs.

Nothing is adopted. The numbers were measured then, against the same baseline, perhaps on another machine; whoever
proposes the same again goes through every gate again.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from headway.core.names import BlobId
from headway.tune.ledger import HYPOTHESIS_CHARACTERS, cut, outcome_text
from headway.tune.state import Attempt, Campaign, Ranked, Refusal

MOST_OUTCOMES = 12
HALF = MOST_OUTCOMES // 2


@dataclass(frozen=True, slots=True)
class Prior:
    """An earlier campaign in words, and the source of its incumbent if it had one."""

    campaign: str
    outcomes: str
    best: str | None


def prior_of(campaign_id: str, state: Campaign, texts: Callable[[BlobId], str]) -> Prior:
    """The fastest ideas of the campaign, the newest that failed, and how often each reason refused."""
    ranked = [a for a in state.attempts if isinstance(a.outcome, Ranked)]
    fastest = sorted(ranked, key=_ratio, reverse=True)[:HALF]
    failed = [a for a in state.attempts if isinstance(a.outcome, Refusal)][-(MOST_OUTCOMES - len(fastest)) :]
    reasons = Counter(str(a.outcome.reason) for a in state.attempts if isinstance(a.outcome, Refusal))
    lines = [
        f"{len(state.attempts)} attempts; refused: {', '.join(f'{n} {r}' for r, n in reasons.most_common()) or 'none'}"
    ]
    for attempt in [*fastest, *failed]:
        lines.append(f"- {cut(texts(attempt.hypothesis), HYPOTHESIS_CHARACTERS // 2)}: {outcome_text(attempt)}")
    best = state.incumbent
    return Prior(campaign_id, "\n".join(lines), None if best is None else texts(best.source))


def _ratio(attempt: Attempt) -> float:
    assert isinstance(attempt.outcome, Ranked)
    return attempt.outcome.speed.ratio
