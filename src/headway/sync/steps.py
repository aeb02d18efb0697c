"""The steps of a change's journey: each takes the ledger, touches the world at most once, and returns facts."""

from dataclasses import dataclass
from typing import Literal

from headway.core.errors import HeadwayError
from headway.core.events import Event, decode
from headway.core.events_core import IntentNamed
from headway.core.events_sync import (
    Attempted,
    Disposed,
    Landed,
    Reopened,
    RunEnded,
    RunStarted,
    SourceFailed,
    UpstreamSeen,
    Validated,
)
from headway.core.gates import NotDecided, Refused
from headway.core.inbox import Entry, taken_mark, untaken
from headway.core.journey import Facts, Settled, effect_key
from headway.core.names import Sha
from headway.core.ports.git import (
    Draft,
    HookRefused,
    SigningFailed,
    SourceUnreachable,
)
from headway.core.reasons import Reason
from headway.core.trailers import RESOLVED_BY, UPSTREAM_COMMIT, UPSTREAM_PR, add_trailers
from headway.sync.accounting import Ledger
from headway.sync.decisions import decided
from headway.sync.history import UPSTREAM_REF, Range, pull_request_link, pull_request_of, upstream_range
from headway.sync.room import Room
from headway.sync.scanning import gone_with_branch, scan_facts
from headway.sync.triage import Assessment, Decided, Ready, Triage
from headway.validate.known import KnownResults
from headway.validate.tier_ladder import L1Answer


@dataclass(frozen=True)
class Orders:
    """What a person asked of one `run`: at most `limit` changes (0: all of them)."""

    limit: int = 0


class Steps:
    """Every step of `commit_journey.py`. Keeps nothing but a cache of immutable facts about the range."""

    def __init__(self, room: Room, orders: Orders) -> None:
        self.room = room
        self.orders = orders
        self._triage: Triage | None = None
        self._known, self._known_up_to = KnownResults(), 0

    # --- begin and end

    def goes_on_with(self, ledger: Ledger) -> bool:
        """An interrupted run with the same orders, config and branch is gone on with; any other is superseded."""
        run, config = ledger.run, self.room.config
        return (
            run is not None
            and (run.limit, run.config, run.config_source) == (self.orders.limit, config.digest, config.source)
            and self.room.landing.read(self.room.branch_ref) == ledger.branch_at
        )

    def begin(self, ledger: Ledger) -> Facts:
        """Where the first pick goes: the landing branch, or trunk where that is ahead of it."""
        room, config = self.room, self.room.config
        trunk = self._trunk()
        branch = room.landing.read(room.branch_ref)
        self._refuse_rewritten_branch(ledger, trunk, branch)
        tip = trunk if branch is None or self._contains(trunk, branch) else branch
        gone = gone_with_branch(room, ledger, self._line(ledger), trunk) if branch is None else {}
        return room.facts(RunStarted(self.orders.limit, config.digest, config.source, tip, branch or ""), about=gone)

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
        upstream = self.room.config.upstream
        try:
            head = self.room.landing.fetch(upstream.url, upstream.branch, UPSTREAM_REF + upstream.branch)
        except SourceUnreachable as trouble:
            evidence = self.room.keep({"message": trouble.message, "next": trouble.fix})
            ended = RunEnded("could_not_run", Reason.PARTIAL_SOURCE, evidence)
            return self.room.facts(SourceFailed(evidence), ended)
        line = upstream_range(self.room.history, _base(ledger), head, ledger.changes)
        new = line.shas[len(ledger.changes) :]
        return self.room.facts(UpstreamSeen(head, len(line.commits), new))

    def again(self, _: Ledger, __: IntentNamed) -> Settled:
        """A pure evaluation, or an effect that is the same twice: simply run it again."""
        return Settled("again")

    def trunk_moved(self, ledger: Ledger) -> bool:
        """Whether trunk has commits that `adopt` has not read."""
        return ledger.scanned is None or ledger.scanned.trunk != self._trunk()

    def scan(self, ledger: Ledger) -> Facts:
        """Read what the fork's own people took, or took back, since the last time."""
        return scan_facts(self.room, ledger, self._line(ledger), self._trunk())

    def inbox_waits(self, ledger: Ledger) -> bool:
        """Whether somebody left a decision while the loop ran."""
        return bool(self._inbox(ledger))

    def take_inbox(self, ledger: Ledger) -> Facts:
        """Do what people decided, each once; what cannot be done is recorded with the reason."""
        entries = self._inbox(ledger)
        facts = dict(decided(self.room, ledger, [(entry.version, entry.decision) for entry in entries]))
        facts[self.room.home] = (*facts.get(self.room.home, ()), taken_mark(self.room.home, entries))
        return facts

    # --- one change

    def assess(self, ledger: Ledger) -> Facts:
        """Decide from facts alone, or find the tree that L1 must judge."""
        change = ledger.next_pending
        assert change is not None and ledger.tip is not None
        answer = self._assessment(ledger, change, ledger.tip)
        if isinstance(answer, Ready):
            result: Literal["clean", "resolved"] = "clean" if answer.facts["result"] == "clean" else "resolved"
            attempted = Attempted(change, ledger.tip, result, answer.tree, self.room.keep(answer.facts))
            return self.room.facts(about={change: (attempted,)})
        return self.room.facts(about=disposed_events(self.room, ledger, answer))

    def validate_intent(self, ledger: Ledger) -> IntentNamed:
        """L1 on the tree of the trial pick: the same tree is the same question."""
        attempted = ledger.attempted
        assert attempted is not None
        return IntentNamed("validate", effect_key("validate", attempted.change, attempted.onto, attempted.tree))

    def validate(self, ledger: Ledger, _: IntentNamed) -> Facts:
        """Compose the commit in the quarantine and let L1 judge exactly that commit."""
        attempted = ledger.attempted
        assert attempted is not None and self.room.l1 is not None
        answer = self._assessment(ledger, attempted.change, attempted.onto)
        if not isinstance(answer, Ready) or answer.tree != attempted.tree:
            return self.assess(ledger)  # git or its settings changed since; ask anew rather than land something else
        try:
            commit = self.room.landing.compose(self._draft(ledger, answer, attempted.onto))
        except HookRefused as refusal:
            said = {
                "message": refusal.message,
                "next": refusal.fix,
                "output": refusal.output.decode("utf-8", "replace"),
            }
            refused = Decided(attempted.change, "deferred", Reason.HOOK_FAILED, said)
            return self.room.facts(about=disposed_events(self.room, ledger, refused))
        except SigningFailed as trouble:
            return self._stop("could_not_run", Reason.HOOK_FAILED, trouble.message, trouble.fix)
        return self._judged(ledger, commit, self.room.l1(commit, attempted.onto, self._known_results()))

    def is_still_composed(self, validated: Validated) -> bool:
        """The quarantine survives a kill but not a power cut; a lost commit is composed and judged again."""
        return self.room.landing.read(validated.commit) is not None

    def land_intent(self, ledger: Ledger) -> IntentNamed:
        """All that `settle_landing` needs: which ref goes from where to where."""
        validated = ledger.validated
        assert validated is not None
        args = {"new": validated.commit, "old": ledger.branch_at or "", "ref": self.room.branch_ref}
        return IntentNamed("land", effect_key("land", validated.change, validated.commit), args)

    def land(self, ledger: Ledger, intent: IntentNamed) -> Facts:
        """Move the landing branch, from exactly where it was seen."""
        validated, branch = ledger.validated, self.room.config.landing.branch
        assert validated is not None
        if (where := self.room.landing.checked_out_at(branch)) is not None:
            raise HeadwayError(
                f"The landing branch {branch} is checked out at {where}, and moving it would leave that tree behind.",
                "Check out another branch there, or set `[landing] branch` to another name.",
            )
        old = Sha(intent.args["old"]) if intent.args["old"] else None
        self.room.landing.land(self.room.branch_ref, validated.commit, validated.onto, old)
        return self._landed(validated)

    def settle_landing(self, ledger: Ledger, intent: IntentNamed) -> Settled:
        """The ref itself says what became of an interrupted landing."""
        validated = ledger.validated
        assert validated is not None
        stands, new = self.room.landing.read(intent.args["ref"]), Sha(intent.args["new"])
        if stands is not None and self._contains(stands, new):
            return Settled("finished", self._landed(validated))
        return Settled("again" if (stands or "") == intent.args["old"] else "rolled_back")

    # --- helpers

    def _judged(self, ledger: Ledger, commit: Sha, answer: L1Answer) -> Facts:
        attempted = ledger.attempted
        assert attempted is not None
        verdict, change = answer.verdict, attempted.change
        if isinstance(verdict, Refused | NotDecided) and (outcome := _concerns_the_fork(answer)) is not None:
            facts = dict(self._stop(outcome, verdict.reason, verdict.message, verdict.next))
            if verdict.reason is Reason.TAMPERED:
                facts = dict(self._with_alarm(ledger, change, answer, facts))
        elif isinstance(verdict, Refused | NotDecided):
            said = Validated(change, commit, attempted.onto, "refused", verdict.reason, answer.evidence)
            decided_ = Disposed(change, "deferred", "run", "proven", verdict.reason, answer.evidence)
            facts = dict(self.room.facts(about={change: (said, decided_)}))
        else:
            said = Validated(change, commit, attempted.onto, "passed", "", answer.evidence)
            facts = dict(self.room.facts(about={change: (said,)}))
        facts[self.room.validation] = answer.events
        return facts

    def _with_alarm(self, ledger: Ledger, change: Sha, answer: L1Answer, stop: Facts) -> Facts:
        disposed = Disposed(change, "deferred", "run", "proven", Reason.TAMPERED, answer.evidence)
        facts = dict(self.room.facts(about={change: (disposed,)}))
        facts[self.room.home] = (*facts[self.room.home], *stop[self.room.home])
        return facts

    def _landed(self, validated: Validated) -> Facts:
        branch = self.room.config.landing.branch
        landed = Landed((validated.change,), validated.commit, validated.onto, branch)
        disposed = Disposed(
            validated.change, "picked", "run", "proven", "landed", validated.evidence, landed=validated.commit
        )
        return self.room.facts(about={validated.change: (landed, disposed)})

    def _stop(self, outcome: str, reason: Reason, message: str, fix: str) -> Facts:
        evidence = self.room.keep({"message": message, "next": fix})
        assert outcome in ("refused", "could_not_run")
        return self.room.facts(RunEnded("refused" if outcome == "refused" else "could_not_run", reason, evidence))

    def _assessment(self, ledger: Ledger, change: Sha, onto: Sha) -> Assessment:
        absent = frozenset(c for c, d in ledger.dispositions.items() if d.kind == "deferred")
        pending, forced = frozenset(ledger.pending), change in ledger.forced
        return self._triage_of(ledger).assess(change, onto, pending=pending, absent=absent, forced=forced)

    def _draft(self, ledger: Ledger, answer: Ready, onto: Sha) -> Draft:
        commit = self._triage_of(ledger).commits[answer.change]
        trailers = [(UPSTREAM_COMMIT, str(answer.change))]
        if (number := pull_request_of(commit)) is not None:
            trailers.append((UPSTREAM_PR, pull_request_link(number, self.room.config.upstream.url)))
        if engines := sorted({hunk["engine"] for hunk in answer.facts.get("resolution", ())}):
            trailers.append((RESOLVED_BY, ", ".join(engines)))
        return Draft(answer.tree, onto, commit.author, add_trailers(commit.message, trailers), commit.encoding)

    def _triage_of(self, ledger: Ledger) -> Triage:
        if self._triage is None or self._triage.line.head != ledger.head:
            room = self.room
            self._triage = Triage.of(
                room.history, room.merges, room.trees, room.config, self._line(ledger), self._trunk()
            )
        return self._triage

    def _line(self, ledger: Ledger) -> Range:
        assert ledger.head is not None
        return upstream_range(self.room.history, _base(ledger), ledger.head, ledger.changes)

    def _known_results(self) -> KnownResults:
        """What L1 remembers; each record of its stream is read once, however many changes a run takes."""
        for record in self.room.log.read(self.room.validation, self._known_up_to):
            self._known.take((decode(record.type, record.payload),))
            self._known_up_to = record.version
        return self._known

    def _inbox(self, ledger: Ledger) -> tuple[Entry, ...]:
        return untaken(self.room.log, self.room.home, ledger.inbox_taken)

    def _trunk(self) -> Sha:
        trunk = self.room.landing.read(self.room.trunk_ref)
        if trunk is None:
            raise HeadwayError(
                f"The fork has no branch {self.room.config.fork.trunk!r}.", "Set `[fork] trunk` in headway.toml."
            )
        return trunk

    def _contains(self, commit: Sha, ancestor: Sha) -> bool:
        return self.room.history.merge_base(commit, ancestor) == ancestor

    def _refuse_rewritten_branch(self, ledger: Ledger, trunk: Sha, branch: Sha | None) -> None:
        last = ledger.last_landing
        if branch is None or last is None or self._contains(branch, last) or self._contains(trunk, last):
            return
        raise HeadwayError(
            f"{self.room.config.landing.branch} stands at {branch[:12]}, which does not contain headway's last landing "
            f"{last[:12]}: somebody rewrote it.",
            f"Put it back with `git branch -f {self.room.config.landing.branch} {last[:12]}`, or delete the branch: "
            "what trunk lacks of it is then picked again.",
        )


def disposed_events(room: Room, ledger: Ledger, answer: Decided) -> dict[Sha, tuple[Event, ...]]:
    """The disposition (both, of a pair), with its evidence stored; an earlier deferral of the partner is reopened."""
    evidence = room.keep(answer.facts)
    events: dict[Sha, tuple[Event, ...]] = {}
    for change, partner in ((answer.change, answer.partner), (answer.partner, answer.change)):
        if change is None:
            continue
        disposed = Disposed(
            change, answer.kind, answer.by, answer.grade, answer.reason, evidence, partner=(partner or "")
        )
        reopened = (Reopened(change, answer.by, evidence),) if change in ledger.dispositions else ()
        events[change] = (*reopened, disposed)
    return events


def _concerns_the_fork(answer: L1Answer) -> str | None:
    """`refused` or `could_not_run` where L1's answer says nothing about this change, so that the run must stop."""
    verdict, base = answer.verdict, answer.base
    if isinstance(verdict, NotDecided):
        if verdict.reason is Reason.NO_COMMAND:
            return "refused"  # what the owner wrote names a program that is not there: his to mend, as in `validate`
        # a step that fails on the change and not on its base is the change's doing, whatever its name
        return None if base is not None and base.green and verdict.reason is Reason.SETUP_FAILED else "could_not_run"
    if isinstance(verdict, Refused) and verdict.reason in (Reason.L1_BLIND, Reason.TAMPERED):
        return "refused"
    if isinstance(verdict, Refused) and verdict.reason is Reason.NOTHING_RAN:
        return "could_not_run" if base is not None and base.trouble == "nothing_ran" else None
    return None


def _base(ledger: Ledger) -> Sha:
    if ledger.opened is None:
        raise HeadwayError("This fork has no ledger yet.", "Run `headway init` in its checkout.")
    return ledger.opened.base
