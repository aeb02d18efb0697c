"""Facts of the validate room. One frozen dataclass per fact; free text goes into blobs, never inline."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from headway.core.names import BlobId, Digest, Sha, TreeId


@dataclass(frozen=True, slots=True)
class RunRequested:
    """Somebody asked for a tier on a revision, against `base` where one was named."""

    TYPE: ClassVar[str] = "validate.requested.v1"
    tier: str
    revision: Sha
    base: Sha | None = None


@dataclass(frozen=True, slots=True)
class SuiteRan:
    """One run of a suite on one tree; `results` is the blob of a `headway.suite_result/1`. `trouble` is "" if none."""

    TYPE: ClassVar[str] = "validate.suite_ran.v1"
    tier: str
    revision: Sha
    tree: TreeId
    suite: Digest
    environment: Digest
    trouble: str
    passed: int
    failed: int
    skipped: int
    not_run: int
    seconds: float
    results: BlobId


@dataclass(frozen=True, slots=True)
class L1Proven:
    """Known-bad changes of the tree were shown to L1: `sees` are the languages whose breakage turned it red."""

    TYPE: ClassVar[str] = "validate.l1_proven.v1"
    revision: Sha
    suite: Digest
    environment: Digest
    sees: tuple[str, ...]
    blind_to: tuple[str, ...]
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class L1Judged:
    """L1's verdict on a change against its base. Counts are of tests; `evidence` names them."""

    TYPE: ClassVar[str] = "validate.l1_judged.v1"
    revision: Sha
    base: Sha | None
    verdict: Literal["passed", "refused", "could_not_run"]
    reason: str
    new: int
    pre_existing: int
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class OwnerTouched:
    """Alarm: while a suite ran, something of the owner's repository changed that only the owner may change."""

    TYPE: ClassVar[str] = "validate.owner_touched.v1"
    revision: Sha
    changes: int
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class Reran:
    """Failing tests were run again on both sides, `runs` times on the change; `evidence` has each test's tallies."""

    TYPE: ClassVar[str] = "validate.reran.v1"
    tier: str
    revision: Sha
    base: Sha
    runs: int
    evidence: BlobId
    seconds: float = 0.0
    """What the steps of all these runs took together; 0 where an older headway wrote it."""


@dataclass(frozen=True, slots=True)
class CensusTaken:
    """What a run covered was held against the accepted inventory and the living allowances; `evidence` names holes."""

    TYPE: ClassVar[str] = "validate.census.v1"
    revision: Sha
    harness: str
    ran: int
    findings: int
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class CensusAccepted:
    """A person made one run's inventory the ratchet that later runs must not fall below."""

    TYPE: ClassVar[str] = "validate.census_accepted.v1"
    revision: Sha
    inventory: BlobId
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class CulpritProbed:
    """One run of a culprit search. `index` counts from the newest commit of the range; `output` is what it printed."""

    TYPE: ClassVar[str] = "validate.culprit_probed.v1"
    commit: Sha
    index: int
    outcome: Literal["failed", "passed", "absent", "unbuildable", "infrastructure"]
    purpose: Literal["search", "verify", "control"]
    output: BlobId


@dataclass(frozen=True, slots=True)
class CulpritFound:
    """The answer of a culprit search; several suspects where none of them but the oldest can be built."""

    TYPE: ClassVar[str] = "validate.culprit.v1"
    kind: Literal["culprit", "born_red", "flake", "infrastructure", "undecided"]
    suspects: tuple[Sha, ...]
    posterior: float
    runs: int
    why: str


@dataclass(frozen=True, slots=True)
class CanariesFlown:
    """Known-bad changes were shown to L1; `missed` are those that had to be caught and were not: an alarm."""

    TYPE: ClassVar[str] = "validate.canaries.v1"
    revision: Sha
    flown: int
    missed: int
    mutants: int
    mutants_caught: int
    evidence: BlobId


ValidateEvent = (
    RunRequested
    | SuiteRan
    | Reran
    | L1Proven
    | L1Judged
    | OwnerTouched
    | CensusTaken
    | CensusAccepted
    | CanariesFlown
    | CulpritProbed
    | CulpritFound
)
