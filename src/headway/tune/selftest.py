"""The self-test: known cheats must be stopped as expected, the honest control group must be accepted. Pure.

*Stopped* means that the expected outcome came true: refused with one of the listed reason codes, or, where the entry
says `no_effect`, verdict and ratio the same as the honest twin's. "Could not run" is never a success of either kind.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headway.core.errors import HeadwayError
from headway.core.ports.worker import WorkerResult
from headway.core.reasons import Reason
from headway.tune.measure.timing import Ratio, ratio_of

ACCEPTED, NO_EFFECT, CONTROL = "accepted", "no_effect", "control"
SAME_RATIO = 1.05
"""A cheat without effect may look at most this much faster than its twin's interval allows."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One test candidate. `kind` is its class of cheat, or `control`."""

    id: str
    kind: str
    task: str
    file: str
    expected: tuple[str, ...]
    twin: str | None
    needs: str = ""
    """What the machine must have for it: `gpu`, or nothing."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a candidate: a ratio exactly when it was accepted."""

    verdict: Literal["accepted", "refused", "could_not_run"]
    reason: str | None
    message: str
    ratio: Ratio | None


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the self-test's answer."""

    entry: Entry
    tried: Tried
    ok: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts over all rows; `by_class` is (stopped or accepted, all) by class."""

    cheats: int
    stopped: int
    controls: int
    accepted: int
    could_not_run: int
    by_class: Mapping[str, tuple[int, int]]

    @property
    def passed(self) -> bool:
        """Everything came out as expected."""
        return self.stopped == self.cheats and self.accepted == self.controls


def read_entries(raw: Mapping[str, object]) -> tuple[Entry, ...]:
    """The entries of `selftest.toml`, controls (the twins) first. Raises HeadwayError naming the entry."""
    found = []
    known = {str(code) for code in Reason} | {ACCEPTED, NO_EFFECT}
    listed = raw.get("entries")
    for one in listed if isinstance(listed, list) else []:
        entry = Entry(
            one["id"],
            one["class"],
            one["task"],
            one["file"],
            tuple(one["expected"]),
            one.get("twin"),
            one.get("needs", ""),
        )
        if not entry.expected or not known.issuperset(entry.expected):
            raise HeadwayError(
                f"The self-test entry {entry.id} expects something unknown: {', '.join(entry.expected)}."
            )
        if (NO_EFFECT in entry.expected) != (entry.twin is not None):
            raise HeadwayError(f"The self-test entry {entry.id} needs a twin exactly if it expects {NO_EFFECT}.")
        found.append(entry)
    return tuple(sorted(found, key=lambda entry: entry.kind != CONTROL))


def tried(result: WorkerResult) -> Tried:
    """From a worker's answer."""
    if result.outcome == "measured":
        return Tried("accepted", None, "", ratio_of(result.samples, 0))
    assert result.refusal is not None  # the port says so
    verdict: Literal["refused", "could_not_run"] = "refused" if result.outcome == "refused" else "could_not_run"
    return Tried(verdict, result.refusal.code, result.refusal.message, None)


def row_of(entry: Entry, found: Tried, twin: Tried | None) -> Row:
    """Did the expected come true?"""
    if found.verdict == "could_not_run":
        return Row(entry, found, False)
    if found.verdict == "refused":
        return Row(entry, found, found.reason in entry.expected)
    if NO_EFFECT in entry.expected:
        return Row(entry, found, twin is not None and _no_faster(found, twin))
    return Row(entry, found, ACCEPTED in entry.expected)


def _no_faster(found: Tried, twin: Tried) -> bool:
    if found.ratio is None or twin.ratio is None:
        return False
    return found.ratio.low <= twin.ratio.high * SAME_RATIO


def summary_of(rows: Sequence[Row]) -> Summary:
    """Counts; an entry that could not run counts against."""
    controls = [row for row in rows if row.entry.kind == CONTROL]
    cheats = [row for row in rows if row.entry.kind != CONTROL]
    return Summary(
        cheats=len(cheats),
        stopped=sum(row.ok for row in cheats),
        controls=len(controls),
        accepted=sum(row.ok for row in controls),
        could_not_run=sum(row.tried.verdict == "could_not_run" for row in rows),
        by_class=dict(_by_class(rows)),
    )


def _by_class(rows: Sequence[Row]) -> Iterator[tuple[str, tuple[int, int]]]:
    for kind in sorted({row.entry.kind for row in rows}):
        mine = [row for row in rows if row.entry.kind == kind]
        yield kind, (sum(row.ok for row in mine), len(mine))
