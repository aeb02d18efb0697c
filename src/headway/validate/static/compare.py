"""Two sides of fingerprints -> what changed, and what of that is worse than its threshold allows. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

from headway.core.fingerprint import CLASSES, Fingerprint
from headway.validate.static.listing import Compiled, Side

State = Literal["same", "changed", "worse", "failed", "compiles_again", "added", "removed", "could_not_run"]
OPCODES_NAMED = 6


@dataclass(frozen=True, slots=True)
class Threshold:
    """What one metric may change by before it counts as worse: both must be passed, `least` (in its unit) and `percent`
    of the old value. With `fewer` a fall is the bad direction."""

    least: int
    percent: float = 0.0
    fewer: bool = False

    def passed_by(self, old: int, new: int) -> bool:
        """Whether the change is worse than is allowed."""
        by = old - new if self.fewer else new - old
        return by > self.least and by > old * self.percent / 100


DEFAULTS: Mapping[str, Threshold] = {
    "registers": Threshold(8, 10),
    "shared": Threshold(1024, 10),
    "stack": Threshold(0),
    "spill_stores": Threshold(0),
    "spill_loads": Threshold(0),
    "barriers": Threshold(1),
    "instructions": Threshold(16, 10),
    "local memory": Threshold(0),
    "global memory": Threshold(4, 25),
    "barrier": Threshold(4, 50),
    "tensor core": Threshold(0, 50, fewer=True),
}
"""By metric: bytes for memory, counts for the rest. Families of instructions are metrics too, by their name."""
METRICS = frozenset({*DEFAULTS, *CLASSES, "integer and moves"})
"""Everything that a threshold may be given for."""


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel on one architecture. `worse` are sentences about passed thresholds, `changed` about all the rest."""

    name: str
    state: State
    worse: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    opcodes: tuple[str, ...] = ()
    message: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`after` against `before`, every kernel of either."""

    before: str
    after: str
    rows: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "before": self.before,
            "after": self.after,
            "rows": [
                {
                    "name": row.name,
                    "state": row.state,
                    "worse": list(row.worse),
                    "changed": list(row.changed),
                    "opcodes": list(row.opcodes),
                    "message": row.message,
                }
                for row in self.rows
            ],
        }


def metrics(found: Fingerprint) -> dict[str, int]:
    """Everything that is counted, by name; a family without an instruction is left out."""
    return {
        "registers": found.registers,
        "shared": found.shared,
        "stack": found.stack,
        "spill_stores": found.spill_stores,
        "spill_loads": found.spill_loads,
        "barriers": found.barriers,
        "instructions": sum(found.instructions.values()),
        **found.instructions,
    }


def spilled(found: Fingerprint) -> int:
    """Bytes of spill stores and loads."""
    return found.spill_stores + found.spill_loads


def compare(before: Side, after: Side, thresholds: Mapping[str, Threshold] = DEFAULTS) -> Comparison:
    """Every kernel of either side, in the order of the later one. What one side could not run is not decided."""
    old = {one.name: one for one in before.kernels}
    new = {one.name: one for one in after.kernels}
    names = dict.fromkeys([*new, *old])
    rows = (_row(name, old.get(name), new.get(name), thresholds) for name in names)
    return Comparison(before.label, after.label, tuple(rows))


def compare_each(sides: Sequence[Side], base: str, thresholds: Mapping[str, Threshold]) -> tuple[Comparison, ...]:
    """Every other side against the one called `base`; with "" each against the one before it."""
    if base:
        first = next(side for side in sides if side.label == base)
        return tuple(compare(first, side, thresholds) for side in sides if side is not first)
    return tuple(compare(old, new, thresholds) for old, new in pairwise(sides))


def verdict(sides: Iterable[Side], comparisons: Iterable[Comparison]) -> Literal["passed", "refused", "could_not_run"]:
    """Worse anywhere refuses; else anything undecided decides nothing. Alone, a side must have compiled everything."""
    rows = [row for comparison in comparisons for row in comparison.rows]
    every = [one for side in sides for one in side.kernels]
    troubles = any(side.trouble for side in sides)
    if any(row.state in ("worse", "failed") for row in rows):
        return "refused"
    if not rows and any(one.outcome == "failed" for one in every):
        return "refused"
    if troubles or not every or any(one.outcome == "could_not_run" for one in every):
        return "could_not_run"
    return "could_not_run" if any(row.state == "could_not_run" for row in rows) else "passed"


def _row(name: str, old: Compiled | None, new: Compiled | None, thresholds: Mapping[str, Threshold]) -> Row:
    if new is None:
        return Row(name, "removed")
    for one, side in ((new, "after"), (old, "before")):
        if one is not None and one.outcome == "could_not_run":
            return Row(name, "could_not_run", message=f"{side}: {one.message}")
    if new.fingerprint is None:
        state: State = "same" if old is not None and old.outcome == "failed" else "failed"
        return Row(name, state, message=new.message)
    if old is None:
        return Row(name, "added")
    if old.fingerprint is None:
        return Row(name, "compiles_again", message=f"before: {old.message}")
    return _judged(Row(name, "same"), old, new, thresholds)


def _judged(row: Row, old: Compiled, new: Compiled, thresholds: Mapping[str, Threshold]) -> Row:
    assert old.fingerprint is not None and new.fingerprint is not None
    were, are = metrics(old.fingerprint), metrics(new.fingerprint)
    worse: list[str] = []
    changed: list[str] = []
    for metric in dict.fromkeys([*were, *are]):
        was, now = were.get(metric, 0), are.get(metric, 0)
        if was == now:
            continue
        said = f"{metric.replace('_', ' ')} {was} -> {now}"
        bar = thresholds.get(metric)
        if metric == "registers" and spilled(new.fingerprint) < spilled(old.fingerprint):
            bar = None  # what no longer goes to memory must be somewhere
        (worse if bar is not None and bar.passed_by(was, now) else changed).append(said)
    opcodes = _opcodes(old.opcodes, new.opcodes)
    if worse:
        return replace(row, state="worse", worse=tuple(worse), changed=tuple(changed), opcodes=opcodes)
    if changed or opcodes or old.sass != new.sass:
        return replace(row, state="changed", changed=tuple(changed), opcodes=opcodes)
    return row


def _opcodes(old: Mapping[str, int], new: Mapping[str, int]) -> tuple[str, ...]:
    """The instructions whose counts differ most, most first."""
    differ = {name: (old.get(name, 0), new.get(name, 0)) for name in {*old, *new} if name != "NOP"}
    moved = sorted((-abs(now - was), name) for name, (was, now) in differ.items() if was != now)
    return tuple(f"{name} {differ[name][0]} -> {differ[name][1]}" for _, name in moved[:OPCODES_NAMED])
