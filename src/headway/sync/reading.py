"""What the steps of a run know of upstream's range: immutable facts, read once and kept for as long as they hold."""

from dataclasses import replace

from headway.core.errors import HeadwayError
from headway.core.events import decode
from headway.core.names import BlobId, Sha
from headway.sync.accounting import Ledger
from headway.sync.adopt import Scan, scan
from headway.sync.dependencies import Dependencies, dependencies
from headway.sync.given import Given, standing
from headway.sync.history import UPSTREAM_REF, Range, refuse_rewritten, upstream_range
from headway.sync.room import Room
from headway.sync.triage import Assessment, Triage
from headway.validate.known import KnownResults


class Reading:
    """A cache over one room. Everything in it can be read again from git and the log."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self._triage: Triage | None = None
        self._line: Range | None = None
        self._scans: dict[tuple[Sha, Sha], Scan] = {}
        self._given: dict[BlobId, Given] = {}
        self._needs: tuple[Sha, Dependencies] | None = None
        self._known, self._known_up_to = KnownResults(), 0

    def trunk(self) -> Sha:
        """Where the fork's trunk stands. Raises HeadwayError where there is none."""
        trunk = self.room.trunk()
        if trunk is None:
            raise HeadwayError(
                f"The fork has no branch {self.room.config.fork.trunk!r}.", "Set `[fork] trunk` in headway.toml."
            )
        return trunk

    def contains(self, commit: Sha, ancestor: Sha) -> bool:
        """Whether `ancestor` is `commit` or one of its ancestors."""
        return commit == ancestor or self.room.history.merge_base(commit, ancestor) == ancestor

    def line(self, ledger: Ledger) -> Range:
        """Upstream's range as git has it now. Raises Rewritten."""
        assert ledger.head is not None
        if self._line is None or self._line.head != ledger.head:
            self._line = upstream_range(self.room.history, base_of(ledger), ledger.head, ())
        refuse_rewritten(self._line, ledger.changes)
        return self._line

    def triage(self, ledger: Ledger) -> Triage:
        """The questions that decide what may be taken."""
        if self._triage is None or self._triage.line.head != ledger.head:
            room = self.room
            self._triage = Triage.of(
                room.history,
                room.merges,
                room.trees,
                room.config,
                self.line(ledger),
                self.trunk(),
                room.foresee,
                None,
                room.structural,
            )
        return replace(self._triage, given=self._standing(ledger))

    def _standing(self, ledger: Ledger) -> dict[Sha, tuple[Given, ...]]:
        """Answers that agents and people gave; each blob is read once."""
        return standing(ledger, self.room.blobs, self._given)

    def assessment(self, ledger: Ledger, change: Sha, onto: str) -> Assessment:
        """What is to be done with `change` on top of `onto`, by facts alone."""
        absent = frozenset(c for c, d in ledger.dispositions.items() if d.kind == "deferred")
        pending, forced = ledger.pending, change in ledger.forced
        then = next(iter(pending[pending.index(change) + 1 :]), None) if change in pending else None
        return self.triage(ledger).assess(
            change, onto, pending=frozenset(pending), absent=absent, forced=forced, then=then
        )

    def scan(self, line: Range, tip: Sha) -> Scan:
        """What the fork's line to `tip` has of the range: whole histories are read, so each is read once."""
        if (line.head, tip) not in self._scans:
            self._scans[line.head, tip] = scan(self.room.history, line, tip, self.room.config.adopt)
        return self._scans[line.head, tip]

    def needs(self, ledger: Ledger) -> Dependencies:
        """Which change of the range needs which: slow the first time, and asked only where it matters."""
        assert ledger.head is not None
        if self._needs is None or self._needs[0] != ledger.head:
            commits = self.triage(ledger).line.commits
            patches = self.room.patches.patches([commit.sha for commit in commits])
            self._needs = (ledger.head, dependencies(commits, patches))
        return self._needs[1]

    def known_results(self) -> KnownResults:
        """What L1 remembers; each record of its stream is read once, however many changes a run takes."""
        for record in self.room.log.read(self.room.validation, self._known_up_to):
            self._known.take((decode(record.type, record.payload),))
            self._known_up_to = record.version
        return self._known


def base_of(ledger: Ledger) -> Sha:
    """The merge base that the ledger began at. Raises HeadwayError for a fork without one."""
    if ledger.opened is None:
        raise HeadwayError("This fork has no ledger yet.", "Run `headway init` in its checkout.")
    return ledger.opened.base


def refreshed(room: Room, ledger: Ledger) -> Sha:
    """Upstream's head, fetched. Raises SourceUnreachable, or Rewritten before the fork has a ref or an object of it."""
    upstream, base = room.config.upstream, base_of(ledger)

    def accept(head: Sha) -> None:
        upstream_range(room.history, base, head, ledger.changes)

    return room.landing.fetch(upstream.url, upstream.branch, UPSTREAM_REF + upstream.branch, accept)


def bring_upstream(room: Room) -> None:
    """A fresh clone with a log from elsewhere lacks what the ledger speaks of. Raises SourceUnreachable, Rewritten."""
    if room.landing.read(UPSTREAM_REF + room.config.upstream.branch) is None:
        refreshed(room, room.ledger())
