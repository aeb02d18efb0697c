"""How likely a pending change is to be trouble: a number between 0 and 1 with its reasons. Pure.

The weights are a logistic fit on the triage windows of Meta's Triton fork (what its people picked and deferred), made
and checked by `python -m benchmarks.triage`. They are one fork's record; another fork's people may defer other things.
"""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headway.core.ports.patches import FilePatch
from headway.sync.dependencies import Edge
from headway.sync.languages import is_pin

RISKY = 0.25
"""Score from which a change opens a chain of its own instead of joining a bundle."""


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of a change before anyone picks it."""

    alone: int = 0
    """Conflicted files of a pick on trunk's tip, without the pending changes before it."""
    in_order: bool = False
    """Whether it conflicts on top of the pending changes that would be taken before it."""
    unresolved: int = 0
    """Conflict hunks that no resolver is sure of."""
    entangled: int = 0
    """Earlier changes of the range whose lines or names it builds on, taken or not."""
    absent: int = 0
    """Those of them that are deferred."""
    pins: int = 0
    """Toolchain pins that it moves."""
    unknown: bool = False
    """git could not say what picking it gives."""


@dataclass(frozen=True, slots=True)
class Risk:
    """`score` is a probability by the fit; `reasons` are the signals that raised it, heaviest first."""

    score: float
    reasons: tuple[str, ...]

    @property
    def is_risky(self) -> bool:
        """Whether it opens a chain."""
        return self.score >= RISKY


@dataclass(frozen=True, slots=True)
class Weight:
    """One term: the signal in words, and its weight."""

    name: str
    weight: float


BIAS = -6.03
WEIGHTS: dict[str, Weight] = {
    "alone": Weight("files in conflict when tried alone", 0.89),
    "alone_at_all": Weight("conflicts when tried alone", 1.12),
    "in_order": Weight("conflicts in order too", 0.94),
    "unresolved": Weight("conflict hunks that no resolver is sure of", 0.49),
    "entangled": Weight("builds on many changes of the range", 0.27),
    "absent": Weight("builds on deferred changes", 0.13),
    "pins": Weight("moves a toolchain pin", 0.05),
    "unknown": Weight("git could not try it", 5.5),
}
"""Term -> weight. Counts go in as log2(1 + count), flags as 0 or 1.

`unknown` is set, not fitted (the windows hold too few): what nobody could try must open a chain, not join a bundle.
"""


def signals_of(
    files: Sequence[FilePatch],
    needs: Iterable[Edge],
    *,
    alone: int,
    in_order: bool,
    unresolved: int,
    absent: frozenset[str],
    unknown: bool = False,
) -> Signals:
    """The signals of one change from its patch, its trial picks and what it builds on."""
    wanted = {edge.on for edge in needs if edge.kind != "declared"}
    pins = sum(is_pin(file.path) for file in files)
    return Signals(alone, in_order, unresolved, len(wanted - absent), len(wanted & absent), pins, unknown)


def terms(signals: Signals) -> dict[str, float]:
    """The values that the weights multiply."""
    counts = {
        "alone": signals.alone,
        "unresolved": signals.unresolved,
        "entangled": signals.entangled,
        "absent": signals.absent,
    }
    flags = {"alone_at_all": signals.alone > 0, "in_order": signals.in_order, "pins": signals.pins > 0}
    flags["unknown"] = signals.unknown
    return {name: math.log2(1 + count) for name, count in counts.items()} | {
        name: float(flag) for name, flag in flags.items()
    }


def risk_of(signals: Signals) -> Risk:
    """Score and reasons."""
    parts = {name: WEIGHTS[name].weight * value for name, value in terms(signals).items()}
    score = 1 / (1 + math.exp(-(BIAS + sum(parts.values()))))
    raised = sorted(((part, name) for name, part in parts.items() if part > 0.3), reverse=True)
    return Risk(round(score, 3), tuple(WEIGHTS[name].name for _, name in raised))


def roc_auc(scores: Sequence[float], happened: Sequence[bool]) -> float:
    """Probability that a random change that was trouble scores higher than one that was not; NaN without both."""
    ranked = sorted(zip(scores, happened, strict=True))
    positives, rank_sum, at = sum(happened), 0.0, 0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        rank_sum += sum(what for _, what in ranked[at:end]) * (at + 1 + end) / 2
        at = end
    negatives = len(ranked) - positives
    if not positives or not negatives:
        return math.nan
    return (rank_sum - positives * (positives + 1) / 2) / (positives * negatives)


@dataclass(frozen=True, slots=True)
class Bin:
    """One line of a reliability table: changes scored between `low` and `high`, what was said and what happened."""

    low: float
    high: float
    count: int
    predicted: float
    happened: float


EDGES = (0.0, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)


def reliability(scores: Sequence[float], happened: Sequence[bool]) -> tuple[Bin, ...]:
    """Predicted against happened, by score; empty bins are left out."""
    bins = []
    for low, high in itertools.pairwise(EDGES):
        inside = [
            (s, h) for s, h in zip(scores, happened, strict=True) if low <= s < high or (high == 1.0 and s == 1.0)
        ]
        if inside:
            said = sum(score for score, _ in inside) / len(inside)
            did = sum(what for _, what in inside) / len(inside)
            bins.append(Bin(low, high, len(inside), round(said, 3), round(did, 3)))
    return tuple(bins)
