"""The ledger of strategies: what was tried, what came of it, and when it may be tried again. Folded, never written.

Entries are text for people and agents alike. `recall` resolves every id and every group that a context lists.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from headway.core.errors import HeadwayError
from headway.core.names import BlobId
from headway.core.reasons import Reason
from headway.tune.state import Attempt, Campaign, InFlight, Ranked, Refusal, Strategy, Undecided

Texts = Callable[[BlobId], str]
"""The text of a blob; the caller may cache."""

EVIDENCE_CHARACTERS = 240
HYPOTHESIS_CHARACTERS = 400

RETRY_ONLY_IF: dict[Reason, str] = {
    Reason.WRONG_RESULT: "the cause of the error is found",
    Reason.NOT_FINITE: "the overflow or division is found",
    Reason.WRONG_SHAPE: "the signature is followed",
    Reason.INPUT_CHANGED: "the inputs are left alone",
    Reason.RAISED: "the exception is understood",
    Reason.COMPILE_FAILED: "the compiler's message is dealt with",
    Reason.SYNTAX: "the source parses",
    Reason.TIMED_OUT: "the work per call is bounded",
    Reason.DIED: "the crash is understood",
    Reason.BELOW_FLOOR: "a person has looked at it",
    Reason.NOT_FASTER: "combined with another gain, or on another incumbent",
    Reason.PROTECTED_CASE_WORSE: "the protected case is kept as fast",
}
"""The condition under which a refused idea is worth another attempt; others: "the reason no longer holds"."""


@dataclass(frozen=True, slots=True)
class Group:
    """Strategies folded into one line: `first` to `last`, less those shown in full."""

    first: int
    last: int

    @property
    def name(self) -> str:
        """`S1-S50`, which recall resolves."""
        return f"S{self.first}-S{self.last}"


def attempts_of(state: Campaign, strategy: Strategy) -> Iterator[Attempt]:
    """The strategy's attempts, oldest first."""
    return (state.attempt(number) for number in strategy.attempts)


def is_open(state: Campaign, strategy: Strategy) -> bool:
    """Still worth carrying in full: under way, undecided, or where the incumbent is from."""
    if state.current is not None and state.current.strategy == strategy.id:
        return True
    if state.incumbent is not None and state.incumbent.strategy == strategy.id:
        return True
    return isinstance(state.attempt(strategy.attempts[-1]).outcome, Undecided | InFlight)


def best_of(attempts: Iterable[Attempt]) -> Attempt | None:
    """The fastest ranked one; None if none was."""
    ranked = [(a.outcome.speed.ratio, -a.id, a) for a in attempts if isinstance(a.outcome, Ranked)]
    return max(ranked)[2] if ranked else None


def failed(state: Campaign, strategy: Strategy) -> bool:
    """It has ended, and nothing of it was promoted."""
    ended = [a for a in attempts_of(state, strategy) if not isinstance(a.outcome, InFlight)]
    return bool(ended) and not any(isinstance(a.outcome, Ranked) and a.outcome.promoted for a in ended)


def outcome_text(attempt: Attempt) -> str:
    """One phrase, with the number and its interval where there is one."""
    match attempt.outcome:
        case InFlight():
            return "under way"
        case Refusal(at=at, reason=reason, earlier=earlier):
            return f"refused at {at}: {reason}" + (f" of A{earlier}" if earlier is not None else "")
        case Undecided(reason=reason):
            return f"could not run: {reason}"
        case Ranked(speed=speed, mode=mode, promotion=promotion):
            what = "estimate" if speed.estimate else "screened" if mode == "screen" else "measured"
            number = f"{speed.ratio:.3f}x [{speed.low:.3f}, {speed.high:.3f}] {what}"
            if promotion is None:
                return number
            if promotion.promoted:
                return f"promoted, {number}"
            return (
                f"not promoted ({promotion.reason}: re-measured {promotion.ratio:.3f} of A{promotion.rival}), {number}"
            )


def entry(state: Campaign, strategy: Strategy, texts: Texts) -> str:
    """A strategy in full: hypothesis, change, parent, outcomes, evidence, when to retry."""
    attempts = list(attempts_of(state, strategy))
    newest, best = attempts[-1], best_of(attempts)
    parent = "the baseline" if newest.parent is None else f"A{newest.parent}"
    lines = [f"S{strategy.id}: {cut(texts(strategy.hypothesis), HYPOTHESIS_CHARACTERS)}"]
    listed = ", ".join(f"A{a.id}" for a in attempts[-6:])
    more = f" (and {len(attempts) - 6} before)" if len(attempts) > 6 else ""
    lines.append(f"  attempts {listed}{more}; builds on {parent}; newest: {outcome_text(newest)}")
    if best is not None and best.id != newest.id:
        lines.append(f"  best A{best.id}: {outcome_text(best)}")
    if newest.knobs:
        lines.append("  change: " + ", ".join(f"{k}={v}" for k, v in sorted(newest.knobs.items())))
    if (evidence := evidence_text(newest, texts)) and not isinstance(newest.outcome, Undecided):
        lines.append(f"  evidence: {evidence}")
    if newest.resembles is not None:
        lines.append(f"  nearly repeats S{newest.resembles}, which failed")
    if (condition := retry_condition(newest)) is not None:
        lines.append(f"  retry only if {condition}")
    return "\n".join(lines)


def evidence_text(attempt: Attempt, texts: Texts) -> str:
    """The worker's words or the profile's digest, cut; "" if there is neither."""
    match attempt.outcome:
        case Refusal(evidence=str() as blob) | Ranked(profile=str() as blob):
            return cut(texts(blob), EVIDENCE_CHARACTERS)
    return ""


def retry_condition(attempt: Attempt) -> str | None:
    """When an idea that failed is worth another try; None if it did not fail."""
    match attempt.outcome:
        case Refusal(reason=Reason.DUPLICATE):
            return "it is a different candidate"
        case Refusal(reason=reason):
            return RETRY_ONLY_IF.get(reason, "the reason no longer holds")
        case Ranked(promotion=None, speed=speed) if speed.high < 1:
            return "combined with something that makes up for the loss"
        case Ranked(promotion=promotion) if promotion is not None and promotion.reason is not None:
            return RETRY_ONLY_IF[promotion.reason]
    return None


def group_line(state: Campaign, group: Group) -> str:
    """A group in one line: ids, count, best and worst outcome, and the one lesson."""
    attempts = [a for s in state.strategies[group.first - 1 : group.last] for a in attempts_of(state, s)]
    reasons = Counter(str(a.outcome.reason) for a in attempts if isinstance(a.outcome, Refusal))
    ranked = sorted((a.outcome.speed.ratio, a.id) for a in attempts if isinstance(a.outcome, Ranked))
    best = f"best A{ranked[-1][1]} {ranked[-1][0]:.3f}x" if ranked else "best: none ran right"
    common = reasons.most_common(1)
    worst = (
        f"worst {common[0][0]}" if common else f"worst A{ranked[0][1]} {ranked[0][0]:.3f}x" if ranked else "no worst"
    )
    slower = sum(isinstance(a.outcome, Ranked) and not a.outcome.promoted for a in attempts)
    count, lesson = max([(slower, "right but not promoted"), *((n, f"refused for {reason}") for reason, n in common)])
    strategies = group.last - group.first + 1
    return (
        f"{group.name}: {strategies} strategies, {len(attempts)} attempts; {best}; {worst}; "
        f"lesson: {count} of {len(attempts)} {lesson}"
    )


def groups_below(full_from: int, size: int) -> tuple[Group, ...]:
    """Aligned groups of `size` ids over S1 … S(full_from - 1); the newest may be shorter."""
    return tuple(Group(first, min(first + size - 1, full_from - 1)) for first in range(1, full_from, size))


def range_of(state: Campaign, name: str) -> range | None:
    """The strategies that `S12` or `S1-S50` stands for; None if the campaign has no such."""
    if match := re.fullmatch(r"S(\d+)(?:-S?(\d+))?", name):
        first, last = int(match[1]), int(match[2] or match[1])
        if 1 <= first <= last <= len(state.strategies):
            return range(first, last + 1)
    return None


def recall(state: Campaign, wanted: str, texts: Texts) -> str:
    """What `S12`, `S1-S50` or `A7` stands for, in full. Raises HeadwayError for an id the campaign does not have."""
    if (earlier := prior_text(state, wanted, texts)) is not None:
        return earlier
    if (numbers := range_of(state, wanted)) is not None:
        return "\n".join(entry(state, state.strategies[number - 1], texts) for number in numbers)
    if match := re.fullmatch(r"A(\d+)", wanted):
        try:
            return attempt_text(state.attempt(int(match[1])), texts)
        except KeyError:
            pass
    raise HeadwayError(
        f"The campaign has no entry {wanted!r}.",
        f"Its strategies are S1 to S{len(state.strategies)}, its attempts A1 to A{len(state.attempts)}.",
    )


def strategy_line(state: Campaign, strategy: Strategy, texts: Texts) -> str:
    """A strategy in one line: its hypothesis, and its newest outcome."""
    newest = list(attempts_of(state, strategy))[-1]
    return f"S{strategy.id}: {cut(texts(strategy.hypothesis), HYPOTHESIS_CHARACTERS)}; {outcome_text(newest)}"


def prior_text(state: Campaign, wanted: str, texts: Texts) -> str | None:
    """`P1`: an earlier campaign with the source of its best candidate; None for any other name."""
    match = re.fullmatch(r"P(\d+)", wanted)
    if match is None or not 1 <= int(match[1]) <= len(state.prior):
        return None
    one = state.prior[int(match[1]) - 1]
    source = (
        ""
        if one.best is None
        else "\nsource of its best candidate, which is none of this campaign's:\n" + texts(one.best)
    )
    return f"{one.campaign}\n{texts(one.outcomes)}{source}"


def attempt_text(attempt: Attempt, texts: Texts) -> str:
    """An attempt with its whole source and evidence."""
    lines = [
        f"A{attempt.id} (S{attempt.strategy}): {outcome_text(attempt)}",
        f"hypothesis: {texts(attempt.hypothesis)}",
    ]
    match attempt.outcome:
        case Refusal(evidence=str() as blob) | Ranked(profile=str() as blob):
            lines.append(texts(blob))
    return "\n".join([*lines, "source:", texts(attempt.source)])


def cut(text: str, limit: int) -> str:
    """On one line, at most `limit` characters, and visibly cut."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 2] + " …"
