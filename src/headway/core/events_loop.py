"""Facts of the landing loop: bundles under test, what was thrown out of them, who waits for whom, requests, undoing.

Like all of the sync room's events they are in `fork/<id>`; those about one change are in `change/<fork>/<sha>` too.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from headway.core.names import BlobId, Digest, Sha


@dataclass(frozen=True, slots=True)
class BundleClosed:
    """No more changes join: `changes`, stacked in this order on `onto`, go to L1 together. One is a bundle too."""

    TYPE: ClassVar[str] = "sync.bundle_closed.v1"
    bundle: str
    """A short id, made of base and members."""
    changes: tuple[Sha, ...]
    onto: Sha


@dataclass(frozen=True, slots=True)
class Probed:
    """L1's answer for some members of a bundle, stacked on its base; `commits` are theirs, ready to land.

    What ran is in `validation/<fork>`, appended together with this. `unproven`: red, but what failed passed when the
    reruns asked again, so it may be a flake that the base has too. `unstackable`: there was nothing to test.
    """

    TYPE: ClassVar[str] = "sync.probed.v1"
    bundle: str
    changes: tuple[Sha, ...]
    commits: tuple[Sha, ...]
    onto: Sha
    verdict: Literal["passed", "refused", "unproven", "unstackable"]
    reason: str
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class Ejected:
    """`change` is the guilty member of a red bundle; the members after it are pending again. `runs`: L1's answers.

    `alone`: how it answered by itself. `partner`: the earlier member that it only fails together with.
    """

    TYPE: ClassVar[str] = "sync.ejected.v1"
    change: Sha
    bundle: str
    alone: Literal["green", "red", "cannot_stand", "not_asked"]
    partner: str
    of: int
    """How many members the bundle had."""
    runs: int
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class BundleDropped:
    """An unfinished bundle was given up (a power cut took its commits, a person decided on a member): all pending."""

    TYPE: ClassVar[str] = "sync.bundle_dropped.v1"
    bundle: str
    why: str


@dataclass(frozen=True, slots=True)
class Suspected:
    """While these were under test together something touched the owner's repository: each is tried alone next time."""

    TYPE: ClassVar[str] = "sync.suspected.v1"
    changes: tuple[Sha, ...]
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class Waits:
    """A deferral that is taken back by itself as soon as one of `on` has landed or is decided."""

    TYPE: ClassVar[str] = "sync.waits.v1"
    change: Sha
    on: tuple[Sha, ...]
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class Hastened:
    """A person wants `change` ahead of the frontier, and with it `needs`, which it cannot land without."""

    TYPE: ClassVar[str] = "sync.hastened.v1"
    change: Sha
    needs: tuple[Sha, ...]
    by: str
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class LandingUndone:
    """`landing` was taken back by `commit` (or, "", by moving the branch back to `tip`); `changes` were in it."""

    TYPE: ClassVar[str] = "sync.undone.v1"
    landing: Sha
    changes: tuple[Sha, ...]
    commit: str
    tip: Sha
    branch: str
    by: str
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class RequestSeen:
    """What the forge says of headway's own pull request: appended when it is opened and whenever that changes."""

    TYPE: ClassVar[str] = "sync.request.v1"
    serial: int
    """1 for the fork's first request; a merged or closed one is followed by the next."""
    number: int
    url: str
    state: Literal["open", "merged", "closed"]
    head: Sha
    checks: Literal["none", "pending", "passed", "failed"]
    mergeable: Literal["yes", "no", "unknown"]
    merged_as: str = ""


@dataclass(frozen=True, slots=True)
class StoodStill:
    """An alarm: since `since` (the log's time stamp) the frontier has not moved while changes waited.

    Once for each standstill, and once more when its issue (0: none) could be filed only later.
    """

    TYPE: ClassVar[str] = "sync.stood_still.v1"
    since: str
    frontier: str
    """The change it stands at."""
    waiting: int
    hours: float
    issue: int = 0


@dataclass(frozen=True, slots=True)
class MovedOn:
    """The end of that alarm: the frontier has moved, or nothing waits any more."""

    TYPE: ClassVar[str] = "sync.moved_on.v1"
    since: str
    frontier: str


@dataclass(frozen=True, slots=True)
class ProseAsked:
    """An agent was asked for prose on a report's page; `facts` is the digest of all that it was shown.

    `accepted`: `prose` is the text. `refused`: a rail said no to it, with `reason`. `nothing`: it had none; `reason`
    says why, and `prose` holds what it said instead.
    """

    TYPE: ClassVar[str] = "sync.prose.v1"
    document: str
    facts: Digest
    by: str
    outcome: Literal["accepted", "refused", "nothing"]
    reason: str
    prose: BlobId
    tokens: int
    money: float


LoopEvent = (
    BundleClosed
    | Probed
    | Ejected
    | BundleDropped
    | Suspected
    | Waits
    | Hastened
    | LandingUndone
    | RequestSeen
    | StoodStill
    | MovedOn
    | ProseAsked
)
