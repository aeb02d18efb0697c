"""The steps that take changes to the fork: fill a bundle, put it to L1, land what is green, throw out the guilty."""

from typing import Literal

from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.core.events_core import IntentNamed
from headway.core.events_loop import BundleClosed, BundleDropped, Ejected, Probed, Suspected, Waits
from headway.core.events_sync import Attempted, Disposed, Landed, Reopened, RunEnded
from headway.core.gates import NotDecided, Refused
from headway.core.journey import Facts, Settled, effect_key
from headway.core.names import BlobId, Sha, StreamId
from headway.core.ports.git import Draft, HookRefused, SigningFailed
from headway.core.reasons import Reason
from headway.core.trailers import HEADWAY_BUNDLE, RESOLVED_BY, UPSTREAM_COMMIT, UPSTREAM_PR, add_trailers
from headway.sync.accounting import Ledger
from headway.sync.asking import met, with_history
from headway.sync.bundle import Bundle, bundle_id
from headway.sync.chains import blocked, blockers_in, deferred_in, travels_alone
from headway.sync.dependencies import Edge
from headway.sync.group_testing import Ask, Found, Question
from headway.sync.history import pull_request_link, pull_request_of
from headway.sync.reading import Reading
from headway.sync.room import Room
from headway.sync.triage import Assessment, Decided, Ready
from headway.validate.tier_ladder import L1Answer


class LandingSteps:
    """What happens to changes on their way into the fork. `limit`: at most so many in this run; 0: all."""

    def __init__(self, reading: Reading, limit: int) -> None:
        self.room: Room = reading.room
        self._reading = reading
        self._limit = limit
        self._ready: dict[tuple[Sha, str], Ready] = {}
        self._stacked_here: set[str] = set()

    # --- filling the bundle

    def assess(self, ledger: Ledger) -> Facts:
        """Decide from facts alone, or let the change join the bundle."""
        change, bundle = ledger.next_pending, ledger.bundle
        assert change is not None and ledger.tip is not None
        onto = bundle.top if bundle is not None else ledger.tip
        answer = self._answer(ledger, change, onto)
        if isinstance(answer, Decided):
            if (conflict := met(self.room, ledger, answer)) is not None:
                return self.room.facts(about={change: (conflict,)})
            answer = with_history(self.room, ledger, answer)
            return self.room.facts(about=disposed_events(self.room, ledger, answer))
        alone = travels_alone(
            ledger, answer, self._reading.triage(ledger), lambda: self._reading.needs(ledger).of(change)
        )
        if alone and bundle is not None:
            return self.close(ledger)
        self._ready[change, onto] = answer
        self._stacked_here.add(answer.tree)
        result: Literal["clean", "resolved"] = "clean" if answer.facts["result"] == "clean" else "resolved"
        attempted = Attempted(change, Sha(onto), result, answer.tree, self.room.keep(answer.facts))
        if not alone:
            return self.room.facts(about={change: (attempted,)})
        closed = BundleClosed(bundle_id(ledger.tip, [change]), (change,), ledger.tip)
        return self.room.facts(about={change: (attempted, closed)})

    def is_full(self, ledger: Ledger) -> bool:
        """Whether nothing more can join the bundle: it is as large as it may be, or there is nothing more to take."""
        bundle = ledger.bundle
        if bundle is None:
            return False
        asked = bool(self._limit) and ledger.handled + len(bundle.members) >= self._limit
        return asked or len(bundle.members) >= self.room.config.plan.bundle or ledger.next_pending is None

    def close(self, ledger: Ledger) -> Facts:
        """Give the bundle its name; it goes to L1 as it is."""
        bundle = ledger.bundle
        assert bundle is not None
        closed = BundleClosed(bundle_id(bundle.onto, bundle.changes), bundle.changes, bundle.onto)
        return self._once(closed, {change: () for change in bundle.changes})

    # --- L1

    def validate_intent(self, ledger: Ledger) -> IntentNamed:
        """L1 on some members of the bundle: the same members on the same base are the same question."""
        bundle, question = _asked(ledger)
        asked = bundle.times_asked(question)
        again = (f"again {asked}",) if asked else ()
        changes = (bundle.changes[number] for number in question)
        return IntentNamed("validate", effect_key("validate", bundle.id, *changes, *again))

    def validate(self, ledger: Ledger, _: IntentNamed) -> Facts:
        """Compose the commits in the quarantine and let L1 judge exactly those."""
        bundle, question = _asked(ledger)
        assert self.room.l1 is not None
        stack = self._stacked(ledger, bundle, question)
        if stack is None:
            return self._unstackable(ledger, bundle, question)
        commits: list[Sha] = []
        for number, ready in enumerate(stack, start=1):
            place = f"{bundle.id} {number}/{len(stack)}" if len(stack) > 1 else ""
            parent = commits[-1] if commits else bundle.onto
            try:
                commits.append(self.room.landing.compose(self._draft(ledger, ready, parent, place)))
            except HookRefused as refusal:
                return self._hook_refused(ledger, ready.change, refusal)
            except SigningFailed as trouble:
                return self.stop(ledger, "could_not_run", Reason.HOOK_FAILED, trouble.message, trouble.fix)
        known = self._reading.known_results()
        if bundle.times_asked(question):
            known = known.without_results()  # what was seen is in doubt: recalling it would say the same again
        answer = self.room.l1(commits[-1], bundle.onto, known)
        return self._judged(ledger, question, tuple(commits), answer)

    # --- landing

    def found(self, ledger: Ledger) -> Found | None:
        """What the search in the bundle ended with; None while L1 has to be asked more, or nothing is closed."""
        if ledger.bundle is None or not ledger.bundle.id:
            return None
        step = ledger.bundle.step()
        return step if isinstance(step, Found) else None

    def is_still_composed(self, ledger: Ledger, found: Found) -> bool:
        """The quarantine survives a kill but not a power cut; lost commits are composed and judged again."""
        assert ledger.bundle is not None
        commits = ledger.bundle.probe_of(tuple(range(found.lands))).commits
        return self.room.landing.read(commits[-1]) is not None

    def is_lost(self, ledger: Ledger) -> bool:
        """Whether the trees of an unfinished bundle are gone: a power cut, or a log that came from another machine."""
        bundle = ledger.bundle
        if bundle is None or not bundle.members or bundle.members[-1].tree in self._stacked_here:
            return False
        try:
            self.room.trees.changes(bundle.top, bundle.top)
        except HeadwayError:
            return True
        self._stacked_here.add(bundle.members[-1].tree)
        return False

    def drop(self, ledger: Ledger) -> Facts:
        """Give the bundle up; its members are pending."""
        assert ledger.bundle is not None
        dropped = BundleDropped(ledger.bundle.id, "what was composed for it is gone")
        return self._once(dropped, self.abandoned(ledger, self.room.keep({"why": dropped.why})))

    def land_intent(self, ledger: Ledger) -> IntentNamed:
        """All that `settle_landing` needs: which ref goes from where to where."""
        _, probe = self._landing(ledger)
        args = {"new": probe.commits[-1], "old": ledger.branch_at or "", "ref": self.room.branch_ref}
        return IntentNamed("land", effect_key("land", probe.bundle, probe.commits[-1]), args)

    def land(self, ledger: Ledger, intent: IntentNamed) -> Facts:
        """Move the landing branch, from exactly where it was seen."""
        _, probe = self._landing(ledger)
        self.room.refuse_checked_out()
        old = Sha(intent.args["old"]) if intent.args["old"] else None
        self.room.landing.land(self.room.branch_ref, probe.commits[-1], probe.onto, old)
        return self._landed(ledger)

    def settle_landing(self, ledger: Ledger, intent: IntentNamed) -> Settled:
        """The ref itself says what became of an interrupted landing."""
        stands, new = self.room.landing.read(intent.args["ref"]), Sha(intent.args["new"])
        if stands is not None and self._reading.contains(stands, new):
            return Settled("finished", self._landed(ledger))
        return Settled("again" if (stands or "") == intent.args["old"] else "rolled_back")

    def eject(self, ledger: Ledger) -> Facts:
        """Nothing of the bundle lands: its first member is the guilty one."""
        found = self.found(ledger)
        assert found is not None
        return self._ejection(ledger, ledger.bundle, found)

    def abandoned(self, ledger: Ledger, evidence: BlobId) -> dict[Sha, tuple[Event, ...]]:
        """Answers that were given on top of an unfinished bundle are taken back with it."""
        stale = ledger.bundle.stale_without(0) if ledger.bundle is not None else ()
        return {change: (Reopened(change, "run", evidence),) for change in stale}

    def stop(self, ledger: Ledger, outcome: str, reason: Reason, message: str, fix: str) -> Facts:
        """The run ends for what is not about one change."""
        evidence = self.room.keep({"message": message, "next": fix})
        ended = RunEnded("refused" if outcome == "refused" else "could_not_run", reason, evidence)
        facts = dict(self.room.facts(about=self.abandoned(ledger, evidence)))
        facts[self.room.home] = (*facts[self.room.home], ended)
        return facts

    # --- helpers

    def _answer(self, ledger: Ledger, change: Sha, onto: str) -> Assessment:
        answer = self._reading.assessment(ledger, change, onto)
        if change in ledger.forced or (isinstance(answer, Decided) and answer.kind != "deferred"):
            return answer
        edges = self._edges_to_deferred(ledger, change)
        return blocked(answer, edges, lambda name: not self.room.trees.mentions(onto, name)) if edges else answer

    def _edges_to_deferred(self, ledger: Ledger, change: Sha) -> tuple[Edge, ...]:
        deferred = deferred_in(ledger) - {change}
        return self._reading.needs(ledger).of(change, deferred) if deferred else ()

    def _stacked(self, ledger: Ledger, bundle: Bundle, question: Question) -> list[Ready] | None:
        """The members' picks on top of each other; None where one cannot be made, or comes out otherwise than before.

        A prefix was stacked before: its trees are known, and git or its settings may have changed since.
        """
        stack: list[Ready] = []
        is_prefix = question == tuple(range(len(question)))
        for number in question:
            member = bundle.members[number]
            onto = str(stack[-1].tree) if stack else str(bundle.onto)
            answer: Assessment | None = self._ready.get((member.change, onto))
            if answer is None:
                answer = self._reading.assessment(ledger, member.change, onto)
            if not isinstance(answer, Ready) or (is_prefix and answer.tree != member.tree):
                return None
            stack.append(answer)
        return stack

    def _unstackable(self, ledger: Ledger, bundle: Bundle, question: Question) -> Facts:
        if question == tuple(range(len(question))):
            return self.drop(ledger)
        changes = tuple(bundle.changes[number] for number in question)
        evidence = self.room.keep({"why": "picked without the members between them these do not apply"})
        return self.room.facts(Probed(bundle.id, changes, (), bundle.onto, "unstackable", "", evidence))

    def _hook_refused(self, ledger: Ledger, change: Sha, refusal: HookRefused) -> Facts:
        said = {"message": refusal.message, "next": refusal.fix, "output": refusal.output.decode("utf-8", "replace")}
        answer = Decided(change, "deferred", Reason.HOOK_FAILED, said)
        about = disposed_events(self.room, ledger, answer) | self.abandoned(ledger, self.room.keep(said))
        return self.room.facts(about=about)

    def _judged(self, ledger: Ledger, question: Question, commits: tuple[Sha, ...], answer: L1Answer) -> Facts:
        bundle, verdict = ledger.bundle, answer.verdict
        assert bundle is not None
        changes = tuple(bundle.changes[number] for number in question)
        if isinstance(verdict, Refused | NotDecided) and (outcome := concerns_the_fork(answer)) is not None:
            facts = dict(self.stop(ledger, outcome, verdict.reason, verdict.message, verdict.next))
            if verdict.reason is Reason.TAMPERED:
                facts = self._with_alarm(bundle, changes, answer, facts)
        else:
            reason = verdict.reason.value if isinstance(verdict, Refused | NotDecided) else ""
            said: Literal["passed", "refused", "unproven"] = "refused" if reason else "passed"
            if verdict.kind == "refused" and is_unproven(answer):
                said = "unproven"
            probe = Probed(bundle.id, changes, commits, bundle.onto, said, reason, answer.evidence)
            facts = self._probed(ledger, bundle, probe)
        facts[self.room.validation] = answer.events
        return facts

    def _probed(self, ledger: Ledger, bundle: Bundle, probe: Probed) -> dict[StreamId, tuple[Event, ...]]:
        """The answer; and where it ends the search with nothing to land, the end as well."""
        with_it = Bundle(bundle.onto, bundle.members, bundle.id, (*bundle.probes, probe), bundle.answered)
        step = with_it.step()
        home = self.room.facts(probe)[self.room.home]
        if isinstance(step, Ask) or step.lands:
            return {self.room.home: home}
        facts = dict(self._ejection(ledger, with_it, step))
        facts[self.room.home] = (*home, *facts[self.room.home])
        return facts

    def _with_alarm(
        self, bundle: Bundle, changes: tuple[Sha, ...], answer: L1Answer, stop: Facts
    ) -> dict[StreamId, tuple[Event, ...]]:
        """The culprit is known if it was under test alone; else each of them is tried alone once people have looked."""
        about: dict[Sha, tuple[Event, ...]] = {}
        if len(bundle.members) == 1:
            [change] = changes
            disposed = Disposed(change, "deferred", "run", "proven", Reason.TAMPERED, answer.evidence)
            about = {change: (disposed,)}
        facts = dict(self.room.facts(about=about))
        suspected = () if about else (Suspected(changes, answer.evidence),)
        facts[self.room.home] = (*facts[self.room.home], *suspected, *stop[self.room.home])
        return {**{stream: events for stream, events in stop.items() if stream not in facts}, **facts}

    def _landing(self, ledger: Ledger) -> tuple[Found, Probed]:
        found = self.found(ledger)
        assert found is not None and ledger.bundle is not None
        return found, ledger.bundle.probe_of(tuple(range(found.lands)))

    def _landed(self, ledger: Ledger) -> Facts:
        found, probe = self._landing(ledger)
        bundle = ledger.bundle
        assert bundle is not None
        landed = Landed(probe.changes, probe.commits[-1], bundle.onto, self.room.branch)
        about: dict[Sha, tuple[Event, ...]] = {}
        for change, commit in zip(probe.changes, probe.commits, strict=True):
            about[change] = (Disposed(change, "picked", "run", "proven", "landed", probe.evidence, landed=commit),)
        facts = dict(self._once(landed, about))
        if found.guilty is not None:
            for stream, events in self._ejection(ledger, bundle, found).items():
                facts[stream] = (*facts.get(stream, ()), *events)
        return facts

    def _ejection(self, ledger: Ledger, bundle: Bundle | None, found: Found) -> Facts:
        assert bundle is not None and found.guilty is not None
        guilty = bundle.changes[found.guilty]
        probe = bundle.probe_of(tuple(range(found.guilty + 1)))
        partner = bundle.changes[found.partner] if found.partner is not None else ""
        disposed = Disposed(guilty, "deferred", "run", "proven", probe.reason, probe.evidence, partner=partner)
        events: tuple[Event, ...] = (disposed,)
        if on := tuple(edge.on for edge in self._edges_to_deferred(ledger, guilty) if edge.kind != "declared"):
            events = (disposed, Waits(guilty, on, probe.evidence))
        if len(bundle.members) > 1:
            members, runs = len(bundle.members), sum(one.verdict != "unstackable" for one in bundle.probes)
            ejected = Ejected(guilty, bundle.id, _alone(found), partner, members, runs, probe.evidence)
            events = (ejected, *events)
        about = {guilty: events}
        for change in bundle.stale_without(found.lands):
            about[change] = (Reopened(change, "run", probe.evidence),)
        return self.room.facts(about=about)

    def _draft(self, ledger: Ledger, answer: Ready, onto: Sha, place: str) -> Draft:
        commit = self._reading.triage(ledger).commits[answer.change]
        trailers = [(UPSTREAM_COMMIT, str(answer.change))]
        if (number := pull_request_of(commit)) is not None:
            trailers.append((UPSTREAM_PR, pull_request_link(number, self.room.config.upstream.url)))
        if engines := sorted({hunk["engine"] for hunk in answer.facts.get("resolution", ())}):
            trailers.append((RESOLVED_BY, ", ".join(engines)))
        if place:
            trailers.append((HEADWAY_BUNDLE, place))
        return Draft(answer.tree, onto, commit.author, add_trailers(commit.message, trailers), commit.encoding)

    def _once(self, event: Event, about: dict[Sha, tuple[Event, ...]]) -> Facts:
        """`event` once in the ledger, and in the stream of each change before what else is said about it."""
        facts = dict(self.room.facts(about=about))
        facts = {stream: (event, *events) for stream, events in facts.items()}
        return facts


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
    if blockers := blockers_in(answer):
        events[answer.change] = (*events[answer.change], Waits(answer.change, blockers, evidence))
    return events


def concerns_the_fork(answer: L1Answer) -> str | None:
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


def is_unproven(answer: L1Answer) -> bool:
    """Red for tests alone of which none has failed in every rerun: one may be a flake that the base has too."""
    tallies = answer.attribution.tallies
    reason = answer.verdict.reason if isinstance(answer.verdict, Refused) else None
    if reason is not Reason.TESTS_FAILED or not tallies:
        return False
    changes = [tallies[test].change for test in answer.attribution.new if test in tallies]
    return not any(tally.runs and tally.failed == tally.runs for tally in changes)


def _asked(ledger: Ledger) -> tuple[Bundle, Question]:
    assert ledger.bundle is not None
    step = ledger.bundle.step()
    assert isinstance(step, Ask)
    return ledger.bundle, step.members


def _alone(found: Found) -> Literal["green", "red", "cannot_stand", "not_asked"]:
    if found.alone is None:
        return "cannot_stand"
    return "green" if found.alone else "red"
