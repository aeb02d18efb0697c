"""The scoreboard as plain data: what `tune show --json` prints and the report draws. Folded, never written."""

from collections import Counter
from typing import Any

from headway.tune.ledger import outcome_text
from headway.tune.state import Attempt, Campaign, Ranked, Refusal, Speed, Undecided


def scoreboard(campaign_id: str, state: Campaign) -> dict[str, Any]:
    """Where the campaign stands, and every attempt with its verdict; only ranked ones have a ratio."""
    settings, best = state.needed, state.incumbent
    attempts = [*state.attempts, *([state.current] if state.current is not None else [])]
    refused = Counter(str(a.outcome.reason) for a in state.attempts if isinstance(a.outcome, Refusal))
    return {
        "campaign": campaign_id,
        "task": settings.task,
        "agent": settings.agent,
        "goal": state.goal.digest if state.goal else "",
        "state": standing(state),
        "end": None if state.ended is None else {"state": state.ended.state, "limit": state.ended.limit},
        "spent": {
            "attempts": state.spent.attempts,
            "calls": state.spent.calls,
            "seconds": round(state.spent.seconds, 3),
            "tokens": state.spent.tokens,
            "money": state.spent.money,
            "stall": state.spent.stall,
        },
        "budget": {name: getattr(state.budget, name) for name in state.budget.__slots__},
        "incumbent": None if best is None else attempt_row(best),
        "promotions": list(state.promotions),
        "promotion_tests": state.tests,
        "noise": None if state.baseline is None else state.baseline.noise,
        "strategies": len(state.strategies),
        "refused": dict(refused),
        "undecided": sum(isinstance(a.outcome, Undecided) for a in state.attempts),
        "attempts": [attempt_row(a) for a in attempts],
    }


def standing(state: Campaign) -> str:
    """One word: `running` means that it has not ended, whether or not a process drives it now."""
    if state.ended is not None:
        return "ended"
    return "paused" if state.paused else "running"


def attempt_row(attempt: Attempt) -> dict[str, Any]:
    """One attempt as data."""
    row: dict[str, Any] = {
        "attempt": attempt.id,
        "strategy": attempt.strategy,
        "parent": attempt.parent,
        "digest": attempt.digest,
        "source": attempt.source,
        "knobs": dict(attempt.knobs),
        "verdict": "in_flight",
        "summary": outcome_text(attempt),
        "at_seconds": round(attempt.used, 3),
    }
    match attempt.outcome:
        case Refusal(at=at, reason=reason):
            row |= {"verdict": "refused", "at": at, "reason": reason}
        case Undecided(reason=reason):
            row |= {"verdict": "could_not_run", "reason": reason}
        case Ranked() as ranked:
            row |= {
                "verdict": "promoted" if ranked.promoted else "ranked",
                "mode": ranked.mode,
                **speed_row(ranked.speed),
            }
    return row


def speed_row(speed: Speed) -> dict[str, Any]:
    """A speed as data."""
    return {
        "ratio": speed.ratio,
        "interval": [speed.low, speed.high],
        "blocks": speed.blocks,
        "measured": not speed.estimate,
    }


def ranking(state: Campaign) -> list[Attempt]:
    """Ranked attempts, the incumbent first, then the fastest."""
    ranked = [(a.outcome.speed.ratio, a) for a in state.attempts if isinstance(a.outcome, Ranked)]
    order = sorted(ranked, key=lambda pair: (-pair[0], pair[1].id))
    best = state.incumbent
    rest = [a for _, a in order if best is None or a.id != best.id]
    return rest if best is None else [best, *rest]
