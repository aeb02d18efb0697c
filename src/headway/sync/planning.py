"""A whole plan: every pending change with forecast, needs, risk and stream. Pure but for what the room's ports read.

`plan` shows it; `run` takes its streams.
"""

from collections.abc import Callable
from dataclasses import dataclass

from headway.core.names import Sha
from headway.core.ports.git import Conflicted
from headway.core.streams import Stream, streams_in
from headway.sync.accounting import Ledger
from headway.sync.dependencies import dependencies
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


def plan_of(
    room: Room, ledger: Ledger, line: Range, tip: Sha, *, limit: int = 0, tell: Callable[[int], None] = lambda _: None
) -> Plan:
    """The plan of the oldest `limit` pending changes (0: all) on top of `tip`; `tell` hears how many were tried."""
    given = standing(ledger, room.blobs, {})
    triage = Triage.of(
        room.history, room.merges, room.trees, room.config, line, tip, room.foresee, given, room.structural
    )
    found = []
    for one in forecasts(triage, ledger, tip, limit=limit):
        found.append(one)
        tell(len(found))
    patches = dict(room.patches.patches(line.shas))

    def alone(change: Sha) -> int:
        trial = room.merges.pick(change, tip)
        return len(trial.paths) if isinstance(trial, Conflicted) else 0

    deferred = frozenset(change for change, answer in ledger.dispositions.items() if answer.kind == "deferred")
    needs = dependencies(line.commits, patches.items())
    return Plan(planned(found, needs, patches, deferred, alone, room.config.plan))
