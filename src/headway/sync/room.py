"""What the sync room is given: the fork's config, and ports to git, tests and memory. `wiring/sync.py` builds it."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headway.core.config import Config
from headway.core.errors import HeadwayError
from headway.core.events import Event, decode
from headway.core.journey import Facts
from headway.core.names import BlobId, Sha, StreamId
from headway.core.ports.blobs import BlobStore
from headway.core.ports.forge import Forge
from headway.core.ports.git import Landing, TrialMerges
from headway.core.ports.log import EventLog
from headway.core.ports.patches import PatchReader
from headway.core.ports.remote import Remote
from headway.core.ports.trees import Trees
from headway.sync.accounting import Ledger, apply
from headway.sync.adopt import Reader
from headway.sync.asker import Asker
from headway.sync.resolution import Structural
from headway.sync.triage import as_evidence
from headway.validate.known import KnownResults
from headway.validate.tier_ladder import L1Answer

L1 = Callable[[Sha, Sha, KnownResults], L1Answer]
"""L1's answer on a commit against its base; the commit may be in the quarantine only."""


@dataclass(frozen=True)
class Room:
    """One fork. `history` and `merges` see the quarantine too; `landing` alone changes the owner's repository."""

    config: Config
    history: Reader
    merges: TrialMerges
    trees: Trees
    patches: PatchReader
    landing: Landing
    log: EventLog
    blobs: BlobStore
    l1: L1 | None
    foresee: Callable[[Sha, str], None] = lambda _change, _onto: None
    """A hint: this pick will probably be asked of `merges` next."""
    structural: Structural | None = None
    """A merge of whole files by syntax, where one is installed."""
    asker: Asker | None = None
    """Who is asked about conflicts that the ladder leaves; in `run` only."""
    forge: Forge | None = None
    remote: Remote | None = None
    """Where trunk is read from and the landing branch is pushed to; in mode `pull-request` only, like `forge`."""

    @property
    def home(self) -> StreamId:
        """The fork's ledger."""
        return StreamId(f"fork/{self.config.fork.id}")

    @property
    def validation(self) -> StreamId:
        """Where L1's own events go."""
        return StreamId(f"validation/{self.config.fork.id}")

    def details(self, change: Sha) -> StreamId:
        """One change's whole journey."""
        return StreamId(f"change/{self.config.fork.id}/{change}")

    @property
    def branch(self) -> str:
        """Where green picks go: the landing branch, or trunk itself in mode `direct`."""
        return self.config.fork.trunk if self.config.landing.mode == "direct" else self.config.landing.branch

    @property
    def branch_ref(self) -> str:
        """The same by its full name."""
        return f"refs/heads/{self.branch}"

    def refuse_checked_out(self) -> None:
        """Raises HeadwayError while the branch is checked out: moving it would leave that work tree behind."""
        if (where := self.landing.checked_out_at(self.branch)) is None:
            return
        if self.config.landing.mode == "direct":
            raise HeadwayError(
                f"Trunk ({self.branch}) is checked out at {where}, and a direct landing would leave that tree behind.",
                'Check out another branch there (`git checkout --detach`), or use `[landing] mode = "branch"`.',
            )
        raise HeadwayError(
            f"The landing branch {self.branch} is checked out at {where}, and moving it would leave that tree behind.",
            "Check out another branch there, or set `[landing] branch` to another name.",
        )

    @property
    def trunk_ref(self) -> str:
        """The fork's trunk by its full name."""
        return f"refs/heads/{self.config.fork.trunk}"

    @property
    def remote_trunk_ref(self) -> str:
        """Where the remote's trunk is kept in the fork: out of the way of the owner's own remotes."""
        return f"refs/headway/trunk/{self.config.fork.trunk}"

    def trunk(self) -> Sha | None:
        """Where trunk stands. With pull requests it moves on the remote, and the local branch may lag behind."""
        remote = self.landing.read(self.remote_trunk_ref) if self.config.landing.mode == "pull-request" else None
        return remote or self.landing.read(self.trunk_ref)

    def keep(self, facts: Mapping[str, Any]) -> BlobId:
        """Evidence, made durable."""
        return self.blobs.put(as_evidence(facts))

    def recall_sentence(self, evidence: str) -> tuple[str, str]:
        """(what happened, what to do) of a stop, from its evidence."""
        said = json.loads(self.blobs.get(BlobId(evidence)))
        return said["message"], said["next"]

    def facts(self, *events: Event, about: Mapping[Sha, tuple[Event, ...]] | None = None) -> Facts:
        """`events` for the ledger; those `about` a change go to its own stream as well, in the same append."""
        found: dict[StreamId, tuple[Event, ...]] = {self.home: events}
        for change, details in (about or {}).items():
            found[self.home] = (*found[self.home], *details)
            found[self.details(change)] = details
        return found

    def ledger(self) -> Ledger:
        """The fork's ledger as it stands."""
        return ledger_of(self.log, self.home)


def ledger_of(log: EventLog, home: StreamId) -> Ledger:
    """The ledger of any fork, from the log alone."""
    ledger = Ledger()
    for record in log.read(home):
        ledger = apply(ledger, decode(record.type, record.payload))
    return ledger
