"""`undo LANDING`: take a landing back by revert commits on the landing branch, one for each change, if L1 is green."""

from dataclasses import dataclass

from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.events import Event
from headway.core.events_core import IntentNamed
from headway.core.events_loop import LandingUndone
from headway.core.events_sync import Disposed, Landed, Reopened
from headway.core.gates import NotDecided, Refused
from headway.core.journey import Act, Facts, Settled, effect_key
from headway.core.names import Sha
from headway.core.ports.git import Clean, Draft
from headway.core.reasons import Reason
from headway.sync.accounting import Ledger
from headway.sync.reading import Reading


@dataclass(frozen=True)
class Wish:
    """What a person asked for. `later`: the changes are deferred, else they are pending and the next run takes them."""

    landing: str
    by: str
    why: str
    later: bool


class UndoSteps:
    """Prepared in the quarantine and judged by L1 before the intent; the act itself only moves the branch."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._room = reading.room

    def act(self, intent: IntentNamed | None = None) -> Act[Ledger]:
        """The stage; its registry entry settles what a kill left open and never starts one."""

        def named(_: Ledger) -> IntentNamed:
            assert intent is not None
            return intent

        return Act("undo", named, self._undo, self._settle)

    def prepared(self, ledger: Ledger, wish: Wish, tip: Sha) -> IntentNamed:
        """Compose the reverts on `tip` and put them to L1. Raises HeadwayError, CouldNotRun; nothing has moved then."""
        landed = self.landing_named(ledger, wish.landing)
        commits = self._inner(ledger, landed)
        onto, tree = tip, str(tip)
        for commit in reversed(commits):
            taken_out = self._room.merges.unpick(commit, tree)
            if not isinstance(taken_out, Clean):
                raise HeadwayError(
                    f"{commit[:12]} cannot be taken out of {self._room.branch}: what came after it stands on it.",
                    "Undo the later landings first, or revert by hand on trunk.",
                )
            tree = taken_out.tree
            onto = self._room.landing.compose(Draft(taken_out.tree, onto, b"", self._message(commit, wish)))
        self._judge(onto, tip)
        args = {"landing": landed.commit, "new": onto, "onto": tip, "old": self._branch() or "", "by": wish.by}
        args |= {"ref": self._room.branch_ref, "why": wish.why, "later": "yes" if wish.later else ""}
        return IntentNamed("undo", effect_key("undo", landed.commit, onto), args)

    def landing_named(self, ledger: Ledger, name: str) -> Landed:
        """By the commit that landed, one inside it, or a beginning of either."""
        inner = {old.landed: change for change, old in ledger.dispositions.items() if old.by == "run"}
        hits = [
            one
            for one in ledger.landings
            if one.commit not in ledger.undone
            and (one.commit.startswith(name) or any(c.startswith(name) and inner[c] in one.changes for c in inner if c))
        ]
        if len(name) < 4 or not hits:
            raise HeadwayError(
                f"{name!r} is no landing of headway that still stands.", "`headway sync report` lists the landings."
            )
        return hits[-1]

    def _inner(self, ledger: Ledger, landed: Landed) -> list[Sha]:
        found = [ledger.dispositions.get(change) for change in landed.changes]
        return [Sha(old.landed) for old in found if old is not None and old.kind == "picked"]

    def _judge(self, commit: Sha, tip: Sha) -> None:
        assert self._room.l1 is not None
        verdict = self._room.l1(commit, tip, self._reading.known_results()).verdict
        if isinstance(verdict, NotDecided):
            raise CouldNotRun(f"could_not_run({verdict.reason}): {verdict.message}", verdict.next)
        if isinstance(verdict, Refused):
            raise HeadwayError(
                f"Without that landing L1 is red ({verdict.reason}): {verdict.message}",
                "What landed later needs it: undo that first, or revert by hand.",
            )

    def _message(self, commit: Sha, wish: Wish) -> bytes:
        [about] = self._room.history.commits([commit, f"^{commit}^@"])
        text = f'Revert "{about.subject}"\n\nThis reverts commit {commit}.\n'
        return (text + (f"\n{wish.why}\n" if wish.why else "")).encode("utf-8", "surrogateescape")

    def _branch(self) -> Sha | None:
        return self._room.landing.read(self._room.branch_ref)

    def _undo(self, ledger: Ledger, intent: IntentNamed) -> Facts:
        self._room.refuse_checked_out()
        old = Sha(intent.args["old"]) if intent.args["old"] else None
        self._room.landing.land(intent.args["ref"], Sha(intent.args["new"]), Sha(intent.args["onto"]), old)
        return self._undone(ledger, intent)

    def _settle(self, ledger: Ledger, intent: IntentNamed) -> Settled:
        stands, new = self._branch(), Sha(intent.args["new"])
        if stands is not None and self._reading.contains(stands, new):
            return Settled("finished", self._undone(ledger, intent))
        return Settled("rolled_back")

    def _undone(self, ledger: Ledger, intent: IntentNamed) -> Facts:
        args = intent.args
        landed = next(one for one in ledger.landings if one.commit == args["landing"])
        evidence = self._room.keep({"by": args["by"], "why": args["why"], "landing": args["landing"]})
        undone = LandingUndone(
            landed.commit, landed.changes, args["new"], Sha(args["new"]), self._room.branch, args["by"], evidence
        )
        about: dict[Sha, tuple[Event, ...]] = {}
        for change in landed.changes:
            events: tuple[Event, ...] = (Reopened(change, "person", evidence),)
            if args["later"]:
                events = (*events, Disposed(change, "deferred", "person", "proven", Reason.UNDONE, evidence))
            about[change] = events
        for change in ledger.bundle.stale_without(0) if ledger.bundle is not None else ():
            about[change] = (Reopened(change, "run", evidence),)  # answered on top of a bundle that stood on this
        facts = dict(self._room.facts(about=about))
        facts[self._room.home] = (undone, *facts[self._room.home])
        return facts
