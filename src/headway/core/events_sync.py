"""Facts of the sync room. One frozen dataclass per fact; free text goes into blobs, never inline.

All of these are in `fork/<id>`, whose fold decides the next stage; those about one change are in
`change/<fork>/<sha>` as well, so that one change's whole journey can be read on its own.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from headway.core.names import BlobId, Digest, Sha, TreeId

Kind = Literal["picked", "already_present", "reverted_pair", "deferred", "wont_port"]
"""The five dispositions: the one recorded answer for an upstream change."""

Grade = Literal["proven", "claimed"]
"""proven: shown by content (trees, patch-ids, a green L1 and a landing). claimed: somebody's text says so."""

Decider = Literal["run", "adopt", "policy", "person"]


@dataclass(frozen=True, slots=True)
class ForkOpened:
    """The first event of a ledger: what is followed, from where. `base` is the merge base at that time."""

    TYPE: ClassVar[str] = "sync.fork_opened.v1"
    trunk: str
    base: Sha
    upstream: str
    """Path or URL without user-info."""
    branch: str


@dataclass(frozen=True, slots=True)
class UpstreamSeen:
    """Upstream's first-parent line was read up to `head`; `changes` are those new since the last time, oldest first."""

    TYPE: ClassVar[str] = "sync.seen.v1"
    head: Sha
    count: int
    """How many changes are in range now, counted by git; the accounting compares it with its own sum."""
    changes: tuple[Sha, ...]


@dataclass(frozen=True, slots=True)
class SourceFailed:
    """Upstream could not be refreshed: what is known of it is a partial source until the next UpstreamSeen."""

    TYPE: ClassVar[str] = "sync.source_failed.v1"
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class ForkScanned:
    """`adopt` read the fork's own history up to `trunk`: how many changes it found taken, by grade."""

    TYPE: ClassVar[str] = "sync.scanned.v1"
    trunk: Sha
    proven: int
    claimed: int
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class RunStarted:
    """Someone asked for a run. An interrupted run with the same orders is gone on with, not started anew."""

    TYPE: ClassVar[str] = "sync.run_started.v1"
    limit: int
    """At most this many changes in this run; 0: all."""
    config: Digest
    config_source: str
    tip: Sha
    """The commit that the first pick goes onto."""
    branch_at: str
    """Where the landing branch stood, or "" if there was none."""
    urgent_only: bool = False
    """Only changes that a person wants ahead of the others."""


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run handled everything it was asked for, or stopped for a `reason` that is not about one change.

    `evidence` holds the sentence for people; "" when there was nothing to explain.
    """

    TYPE: ClassVar[str] = "sync.run_ended.v1"
    outcome: Literal["done", "limit", "refused", "could_not_run"]
    reason: str = ""
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Attempted:
    """A trial pick of `change` on `onto`. `tree` is what came out of a clean or resolved one, else "".

    `onto` is a commit, or the tree of the pick before it in the same bundle.
    """

    TYPE: ClassVar[str] = "sync.attempted.v1"
    change: Sha
    onto: Sha
    result: Literal["clean", "resolved", "conflict", "empty", "unknown"]
    tree: TreeId
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class Validated:
    """L1's answer for `commit` (the pick of `change`, ready to land) against its parent `onto`.

    Read, no longer written: `events_loop.Probed` says the same of bundles. What ran is in `validation/<fork>`, appended
    together with this.
    """

    TYPE: ClassVar[str] = "sync.validated.v1"
    change: Sha
    commit: Sha
    onto: Sha
    verdict: Literal["passed", "refused"]
    reason: str
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class Landed:
    """The landing branch moved from `onto` to `commit`, which carries `changes`."""

    TYPE: ClassVar[str] = "sync.landed.v1"
    changes: tuple[Sha, ...]
    commit: Sha
    onto: Sha
    branch: str


@dataclass(frozen=True, slots=True)
class Disposed:
    """The one recorded answer for `change`. `landed` is the fork's commit that holds it, where there is one."""

    TYPE: ClassVar[str] = "sync.disposed.v1"
    change: Sha
    kind: Kind
    by: Decider
    grade: Grade
    reason: str
    """A `Reason` code for a deferral or wont_port; else how it was shown (`patch_id`, `same_effect`, `landed`, …)."""
    evidence: BlobId
    landed: str = ""
    partner: str = ""
    """The other change of a reverted pair."""


@dataclass(frozen=True, slots=True)
class Reopened:
    """The answer was taken back, and the change is pending again. `forced`: a person wants it whatever rules say."""

    TYPE: ClassVar[str] = "sync.reopened.v1"
    change: Sha
    by: Decider
    evidence: BlobId
    forced: bool = False


@dataclass(frozen=True, slots=True)
class ConfigWritten:
    """`init` left a headway.toml with this digest in the owner's work tree, where there was none."""

    TYPE: ClassVar[str] = "sync.config_written.v1"
    config: Digest


SyncEvent = (
    ForkOpened
    | ConfigWritten
    | UpstreamSeen
    | SourceFailed
    | ForkScanned
    | RunStarted
    | RunEnded
    | Attempted
    | Validated
    | Landed
    | Disposed
    | Reopened
)
