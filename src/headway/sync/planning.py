"""A whole plan: every pending change with forecast, needs, risk and stream. Pure but for what the room's ports read.

`plan` shows it; `run` takes its streams.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headway.core.names import Sha
from headway.core.ports.git import Commit, Conflicted, TrialMerges
from headway.core.ports.patches import FilePatch, PatchReader
from headway.core.streams import Stream, streams_in
from headway.sync.accounting import Ledger
from headway.sync.dependencies import Dependencies, dependencies
from headway.sync.given import standing
from headway.sync.history import Range
from headway.sync.plan import forecasts
from headway.sync.room import Room
from headway.sync.streams import PlanRow, planned
from headway.sync.triage import Triage


@dataclass(frozen=True)
class Plan:
    """`rows` in upstream's order."""

    rows: tuple[PlanRow, ...]

    @property
    def streams(self) -> tuple[Stream, ...]:
        """Bundles, chains and the toolchain lane, by their oldest member; settled changes are in none."""
        return streams_in((Sha(row.forecast["change"]), row.stream) for row in self.rows)


@dataclass(frozen=True)
class RangeAsked:
    """A range in upstream's order, those of it that are planned, and the fork's tip."""

    commits: tuple[Commit, ...]
    planned: frozenset[Sha]
    tip: Sha


@dataclass(frozen=True)
class RangeFacts:
    """What a range says by itself, whatever is taken of it.

    `alone`: conflicted files of a pick on the tip itself, for planned changes that edit what another planned one wrote.
    """

    patches: Mapping[Sha, Sequence[FilePatch]]
    needs: Dependencies
    alone: Mapping[Sha, int]


FactsReader = Callable[[RangeAsked], Callable[[], RangeFacts]]
"""Begins to read, and gives the function that waits for them. It may work beside the caller."""


def facts_of_range(asked: RangeAsked, patches: PatchReader, merges: TrialMerges) -> RangeFacts:
    """They, read here and now."""
    found = dict(patches.patches([commit.sha for commit in asked.commits]))
    needs = dependencies(asked.commits, found.items())
    on_planned = [
        change
        for change in asked.planned
        if any(edge.kind == "textual" and edge.on in asked.planned for edge in needs.of(change))
    ]
    return RangeFacts(found, needs, {change: _conflicted_files(merges, change, asked.tip) for change in on_planned})


def plan_of(
    room: Room,
    ledger: Ledger,
    line: Range,
    tip: Sha,
    *,
    limit: int = 0,
    tell: Callable[[int], None] = lambda _: None,
    read: FactsReader | None = None,
) -> Plan:
    """The plan of the oldest `limit` pending changes (0: all) on top of `tip`; `tell` hears how many were tried."""
    pending = [change for change in line.shas if change not in ledger.dispositions]
    asked = RangeAsked(line.commits, frozenset(pending[:limit] if limit else pending), tip)
    facts = read(asked) if read is not None else lambda: facts_of_range(asked, room.patches, room.merges)
    given = standing(ledger, room.blobs, {})
    triage = Triage.of(
        room.history, room.merges, room.trees, room.config, line, tip, room.foresee, given, room.structural
    )
    found = []
    for one in forecasts(triage, ledger, tip, limit=limit):
        found.append(one)
        tell(len(found))
    deferred = frozenset(change for change, answer in ledger.dispositions.items() if answer.kind == "deferred")
    known = facts()
    alone = {**dict.fromkeys(line.shas, 0), **known.alone}
    return Plan(planned(found, known.needs, known.patches, deferred, alone, room.config.plan))


def _conflicted_files(merges: TrialMerges, change: Sha, onto: Sha) -> int:
    trial = merges.pick(change, onto)
    return len(trial.paths) if isinstance(trial, Conflicted) else 0
