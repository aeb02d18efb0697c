"""The steps of mode `pull-request`: read trunk and headway's own request on the forge, push, open or update it."""

from headway.core.errors import CouldNotRun
from headway.core.events_core import IntentNamed
from headway.core.events_loop import RequestSeen
from headway.core.events_sync import Landed
from headway.core.journey import Facts, effect_key
from headway.core.names import Sha
from headway.core.ports.forge import Forge, ForgeRefused, ForgeUnreachable, PullRequest, WantedRequest
from headway.core.ports.remote import PushRefused, Remote, RemoteUnreachable
from headway.core.reasons import Reason
from headway.sync.accounting import Ledger
from headway.sync.landing_steps import LandingSteps
from headway.sync.reading import Reading
from headway.sync.request_text import body_of, title_of

TROUBLE = (ForgeRefused, ForgeUnreachable, PushRefused, RemoteUnreachable)
SERIALS_KEY = "headway"


class RequestSteps:
    """One request is open at a time. When it is merged, or its branch begun anew, the next has the next serial."""

    def __init__(self, reading: Reading, landing: LandingSteps) -> None:
        self._reading = reading
        self._room = reading.room
        self._landing = landing

    # --- reading

    def look(self, ledger: Ledger) -> tuple[RequestSeen, ...]:
        """Bring trunk here, and say what became of the newest request, where that is news. Raises TROUBLE."""
        forge, remote = self._ports()
        remote.fetch(self._room.trunk_ref, self._room.remote_trunk_ref)
        if not ledger.requests or ledger.requests[-1].state == "merged":
            return ()
        last = ledger.requests[-1]
        now = seen(last.serial, forge.request(last.number))
        return () if now == last else (now,)

    def trouble(self, ledger: Ledger, trouble: BaseException) -> Facts:
        """The forge or the remote said no, or nothing: the run ends and says so."""
        assert isinstance(trouble, TROUBLE)
        if isinstance(trouble, CouldNotRun):
            return self._landing.stop(
                ledger, "could_not_run", Reason.FORGE_UNREACHABLE, trouble.message, trouble.fix or "Run again later."
            )
        return self._landing.stop(ledger, "refused", Reason.FORGE_REFUSED, trouble.message, trouble.fix or "Mend it.")

    def is_closed(self, ledger: Ledger) -> bool:
        """Whether a person closed the request that the landing branch stands in, without merging it."""
        last = ledger.requests[-1] if ledger.requests else None
        if last is None or last.state != "closed" or ledger.branch_at is None:
            return False
        return self._reading.contains(ledger.branch_at, last.head)

    def stop_closed(self, ledger: Ledger) -> Facts:
        """People said no to the request as a whole: headway does not go on behind their back."""
        last, branch = ledger.requests[-1], self._room.branch
        return self._landing.stop(
            ledger,
            "refused",
            Reason.REQUEST_CLOSED,
            f"The pull request {last.url} was closed without being merged.",
            f"Reopen it; or delete the branch {branch} here: what trunk lacks of it is then pending, and the next "
            "landings open a new request.",
        )

    def stands_on_merged(self, ledger: Ledger) -> bool:
        """Whether this run began on a branch whose request has been merged, so that it must begin at trunk instead."""
        last = ledger.requests[-1] if ledger.requests else None
        merged = last is not None and last.state == "merged" and last.head == ledger.branch_at
        return merged and ledger.tip == ledger.branch_at and ledger.tip != self._reading.trunk()

    # --- writing

    def is_unpublished(self, ledger: Ledger) -> bool:
        """Whether the landing branch has something that no request shows."""
        if ledger.branch_at is None or (ledger.requests and ledger.requests[-1].head == ledger.branch_at):
            return False
        return not self._reading.contains(self._reading.trunk(), ledger.branch_at)

    def has_landed(self, ledger: Ledger) -> bool:
        """Whether this run has moved the branch."""
        assert ledger.run is not None
        return (ledger.branch_at or "") != ledger.run.branch_at

    def publish_intent(self, ledger: Ledger) -> IntentNamed:
        """The same head in the same request is the same publication."""
        serial, head = str(self._serial(ledger)), ledger.branch_at or ""
        return IntentNamed("publish", effect_key("publish", serial, head), {"head": head, "serial": serial})

    def publish(self, ledger: Ledger, intent: IntentNamed) -> Facts:
        """Push the branch; open the request, or bring headway's own open one up to date."""
        try:
            return self._room.facts(self._published(ledger, Sha(intent.args["head"]), int(intent.args["serial"])))
        except TROUBLE as trouble:
            return self.trouble(ledger, trouble)

    def _published(self, ledger: Ledger, head: Sha, serial: int) -> RequestSeen:
        forge, remote = self._ports()
        config, branch = self._room.config, self._room.branch_ref
        there = remote.head(branch)
        if there is not None and there != head and not self._is_ours(ledger, there, head):
            raise PushRefused(
                f"{self._room.branch} on {remote.name} stands at {there[:12]}, where headway did not leave it.",
                "Look at who pushed there and what; then delete that branch on the remote, or name another one.",
            )
        remote.push(head, branch, there)
        changes = self._changes(ledger, head)
        key = f"{SERIALS_KEY}/{config.fork.id}/{serial}"
        wanted = WantedRequest(key, self._room.branch, config.fork.trunk, title_of(changes), body_of(ledger, changes))
        return seen(serial, forge.put_request(wanted))

    def _is_ours(self, ledger: Ledger, there: Sha, head: Sha) -> bool:
        if there in {one.commit for one in ledger.landings}:
            return True
        return self._room.history.resolve(there) is not None and self._reading.contains(head, there)

    def _changes(self, ledger: Ledger, head: Sha) -> tuple[tuple[Landed, tuple[str, ...]], ...]:
        """The landings that the request shows, each with its changes' subjects."""
        commits = self._reading.triage(ledger).commits
        trunk = self._reading.trunk()
        inside = {commit.sha for commit in self._room.history.commits([head, f"^{trunk}"])}
        shown = [one for one in ledger.landings if one.commit in inside and one.commit not in ledger.undone]
        return tuple((one, tuple(commits[change].subject for change in one.changes)) for one in shown)

    def _serial(self, ledger: Ledger) -> int:
        if not ledger.requests:
            return 1
        last = ledger.requests[-1]
        return last.serial if last.state == "open" else last.serial + 1

    def _ports(self) -> tuple[Forge, Remote]:
        assert self._room.forge is not None and self._room.remote is not None
        return self._room.forge, self._room.remote


def seen(serial: int, request: PullRequest) -> RequestSeen:
    """The forge's answer as a fact."""
    mergeable = {True: "yes", False: "no", None: "unknown"}[request.mergeable]
    return RequestSeen(
        serial, request.number, request.url, request.state, request.head_sha, request.checks,
        mergeable,  # type: ignore[arg-type]  # one of the three words
        request.merged_as or "",
    )  # fmt: skip
