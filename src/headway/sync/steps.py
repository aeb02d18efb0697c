"""The steps around the landing of changes: begin and end a run, read upstream, trunk and people, free who waited."""

from dataclasses import dataclass

from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.core.events_core import IntentNamed, PersonDecided
from headway.core.events_sync import Disposed, Reopened, RunEnded, RunStarted, SourceFailed, UpstreamSeen
from headway.core.inbox import Entry, taken_mark, untaken
from headway.core.journey import Facts, Settled, effect_key
from headway.core.names import Sha
from headway.core.ports.git import SourceUnreachable
from headway.core.reasons import Reason
from headway.sync.accounting import Ledger
from headway.sync.asking import Asking
from headway.sync.chains import released
from headway.sync.decisions import decided
from headway.sync.haste import hastened
from headway.sync.history import Range, Rewritten, upstream_range
from headway.sync.landing_steps import LandingSteps
from headway.sync.reading import Reading, base_of, refreshed
from headway.sync.request_steps import TROUBLE, RequestSteps
from headway.sync.room import Room
from headway.sync.scanning import all_taken, found_on_branch, gone_with_branch, scan_facts
from headway.sync.undo_steps import UndoSteps


@dataclass(frozen=True)
class Orders:
    """What a person asked of one `run`: at most `limit` changes (0: all of them)."""

    limit: int = 0
    urgent_only: bool = False
    """Nothing but what a person wants ahead of the others."""


class Steps:
    """The steps of `commit_journey.py` that land nothing; `landing` holds the others."""

    def __init__(self, room: Room, orders: Orders) -> None:
        self.room = room
        self.orders = orders
        self.reading = Reading(room)
        self.landing = LandingSteps(self.reading, orders.limit)
        self.asking = Asking(room, self.reading.triage)
        by_request = room.config.landing.mode == "pull-request"
        self.undoing = UndoSteps(self.reading)
        self.requests = RequestSteps(self.reading, self.landing) if by_request else None

    # --- begin and end

    def goes_on_with(self, ledger: Ledger) -> bool:
        """An interrupted run with the same orders, config and branch is gone on with; any other is superseded."""
        run, config = ledger.run, self.room.config
        return (
            run is not None
            and (run.limit, run.urgent_only) == (self.orders.limit, self.orders.urgent_only)
            and (run.config, run.config_source) == (config.digest, config.source)
            and self.room.landing.read(self.room.branch_ref) == ledger.branch_at
        )

    def begin(self, ledger: Ledger) -> Facts:
        """Where the first pick goes: the landing branch, or trunk where that has all that is on it."""
        room, config = self.room, self.room.config
        trunk = self.reading.trunk()
        branch = room.landing.read(room.branch_ref)
        self._refuse_rewritten_branch(ledger, trunk, branch)
        about = {}
        if branch is None:
            about = gone_with_branch(self.reading, ledger, self.reading.line(ledger), trunk)
        elif branch != ledger.branch_at and not self.reading.contains(trunk, branch):
            about = found_on_branch(self.reading, self.reading.line(ledger), branch, frozenset(ledger.pending))
        about |= self.landing.abandoned(ledger, room.keep({"why": "the run before this one was not gone on with"}))
        tip, orders = self.start(ledger, trunk, branch), self.orders
        started = RunStarted(orders.limit, config.digest, config.source, tip, branch or "", orders.urgent_only)
        return room.facts(started, about=about)

    def limit_reached(self, ledger: Ledger) -> bool:
        """Whether this run has handled as many changes as it was asked to."""
        return bool(self.orders.limit) and ledger.handled >= self.orders.limit

    def end(self, ledger: Ledger) -> Facts:
        """Nothing is left to do, or no more was asked for."""
        return self.room.facts(RunEnded("limit" if ledger.next_pending is not None else "done"))

    # --- upstream, trunk, people

    def refresh_intent(self, ledger: Ledger) -> IntentNamed:
        """Fetching twice is fetching once."""
        return IntentNamed("refresh", effect_key("refresh", ledger.head or "", str(len(ledger.ended))))

    def refresh(self, ledger: Ledger, _: IntentNamed) -> Facts:
        """Fetch upstream and learn of its new changes, or say that the source is partial and stop."""
        try:
            head = refreshed(self.room, ledger)
        except SourceUnreachable as trouble:
            evidence = self.room.keep({"message": trouble.message, "next": trouble.fix})
            ended = RunEnded("could_not_run", Reason.PARTIAL_SOURCE, evidence)
            return self.room.facts(SourceFailed(evidence), ended)
        except Rewritten as trouble:
            evidence = self.room.keep({"message": trouble.message, "next": trouble.fix})
            return self.room.facts(RunEnded("refused", Reason.UPSTREAM_REWRITTEN, evidence))
        try:
            news = self.requests.look(ledger) if self.requests is not None else ()
        except TROUBLE as trouble:
            assert self.requests is not None
            return self.requests.trouble(ledger, trouble)
        line = upstream_range(self.room.history, base_of(ledger), head, ledger.changes)
        new = line.shas[len(ledger.changes) :]
        about = self._on_branch_before(ledger, line, new)
        return self.room.facts(UpstreamSeen(head, len(line.commits), new), *news, about=about)

    def _on_branch_before(self, ledger: Ledger, line: Range, new: tuple[Sha, ...]) -> dict[Sha, tuple[Event, ...]]:
        """Changes that the ledger learns of only now, and that the landing branch has: a lost log had known them."""
        branch = self.room.landing.read(self.room.branch_ref)
        if not new or branch is None or branch == ledger.last_landing:
            return {}
        return found_on_branch(self.reading, line, branch, frozenset(new))

    def again(self, _: Ledger, __: IntentNamed) -> Settled:
        """A pure evaluation, or an effect that is the same twice: simply run it again."""
        return Settled("again")

    def trunk_moved(self, ledger: Ledger) -> bool:
        """Whether trunk has commits that `adopt` has not read; in mode `direct` headway's own are no news."""
        trunk = self.reading.trunk()
        if self.room.config.landing.mode == "direct" and trunk == ledger.last_landing:
            return False
        return ledger.scanned is None or ledger.scanned.trunk != trunk

    def scan(self, ledger: Ledger) -> Facts:
        """Read what the fork's own people took, or took back, since the last time."""
        return self._without_bundle(
            ledger, scan_facts(self.reading, ledger, self.reading.line(ledger), self.reading.trunk())
        )

    def inbox_waits(self, ledger: Ledger) -> bool:
        """Whether somebody left a decision while the loop ran."""
        return bool(self._inbox(ledger))

    def take_inbox(self, ledger: Ledger) -> Facts:
        """Do what people decided, each once; what cannot be done is recorded with the reason."""
        entries = self._inbox(ledger)
        others = [(entry.version, entry.decision) for entry in entries if entry.decision.verb != "pick"]
        facts = dict(self._without_bundle(ledger, decided(self.room, ledger, others)))
        for entry in entries:
            if entry.decision.verb == "pick":
                for stream, events in self._hastened(ledger, entry.decision).items():
                    facts[stream] = (*facts.get(stream, ()), *events)
        facts[self.room.home] = (*facts.get(self.room.home, ()), taken_mark(self.room.home, entries))
        return facts

    def release(self, ledger: Ledger) -> Facts:
        """Who waited for a change that has landed or is decided is pending again."""
        return self.room.facts(
            about={
                change: (Reopened(change, "run", self.room.keep({"released_by": list(by)})),)
                for change, by in released(ledger).items()
            }
        )

    # --- helpers

    def _hastened(self, ledger: Ledger, decision: PersonDecided) -> Facts:
        """What cannot be picked ahead changes nothing: the inbox keeps what was asked."""
        assert ledger.tip is not None
        try:
            return self.room.facts(about=hastened(self.reading, ledger, decision, ledger.tip))
        except HeadwayError:
            return {}

    def start(self, ledger: Ledger, trunk: Sha, branch: Sha | None) -> Sha:
        """The commit that the next landing goes onto."""
        if branch is None or self.reading.contains(trunk, branch):
            return trunk
        if ledger.requests and (ledger.requests[-1].state, ledger.requests[-1].head) == ("merged", branch):
            return trunk  # squashed or rebased: trunk has it all under other ids
        return trunk if all_taken(self.reading, ledger, self.reading.line(ledger), trunk) else branch

    def _without_bundle(self, ledger: Ledger, facts: Facts) -> Facts:
        """Somebody answered for a member of an unfinished bundle: what was answered on top of it is taken back."""
        members = frozenset(ledger.bundle.changes) if ledger.bundle is not None else frozenset()
        disposed = [e for e in facts.get(self.room.home, ()) if isinstance(e, Disposed) and e.change in members]
        if not disposed:
            return facts
        taken_back = self.room.facts(about=self.landing.abandoned(ledger, disposed[0].evidence))
        return {stream: (*facts.get(stream, ()), *taken_back.get(stream, ())) for stream in {*facts, *taken_back}}

    def _inbox(self, ledger: Ledger) -> tuple[Entry, ...]:
        return untaken(self.room.log, self.room.home, ledger.inbox_taken)

    def _refuse_rewritten_branch(self, ledger: Ledger, trunk: Sha, branch: Sha | None) -> None:
        last, contains = ledger.last_landing, self.reading.contains
        if branch is None or last is None or contains(branch, last) or contains(trunk, last):
            return
        name = self.room.branch
        raise HeadwayError(
            f"{name} stands at {branch[:12]}, which does not contain headway's last landing "
            f"{last[:12]}: somebody rewrote it.",
            f"Put it back with `git branch -f {name} {last[:12]}`, or delete the branch: "
            "what trunk lacks of it is then picked again.",
        )
