"""Facts of the tiers beyond L1: what suites reported, what trunk runs found, who was told, who signed what off."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from headway.core.names import BlobId, Digest, Sha, TreeId

Cause = Literal["code", "method", "hardware", "noise", "infrastructure", "unknown"]
"""Why a suite turned red or slow. `hardware` is everything outside the tree: machine, driver, installed programs."""


@dataclass(frozen=True, slots=True)
class SuiteReported:
    """One whole run of a named suite on one revision: run here, or ingested from a pipeline elsewhere.

    `run` is its id at the source and `started` when it began there (UTC, ISO 8601). `bound` says how it is known to
    belong to the revision: `run` (we ran it), `report` (its own words), `claimed` (only by whoever handed it in).
    `purpose` is what its GPU-hours are booked on: a tier, `request <id>`, or "" (ingested without one).
    """

    TYPE: ClassVar[str] = "validate.suite_reported.v1"
    suite: str
    revision: Sha
    tree: TreeId
    purpose: str
    run: str
    started: str
    bound: Literal["run", "report", "claimed"]
    definition: Digest
    environment: Digest
    harness: str
    trouble: str
    passed: int
    failed: int
    skipped: int
    not_run: int
    metrics: int
    seconds: float
    gpu_hours: float
    results: BlobId

    @property
    def green(self) -> bool:
        """Something ran, nothing failed, nothing was wrong with the run."""
        return not self.trouble and self.failed == 0 and self.passed + self.metrics > 0


@dataclass(frozen=True, slots=True)
class QuorumTaken:
    """Two or more harnesses were held against each other on one tree; `disagreements` are test identities."""

    TYPE: ClassVar[str] = "validate.quorum.v1"
    quorum: str
    revision: Sha
    suites: tuple[str, ...]
    tests: int
    disagreements: int
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class WaiverGranted:
    """A named person answers for failures of `tests` (a glob) being unrelated, until a day (ISO, inclusive)."""

    TYPE: ClassVar[str] = "validate.waiver.v1"
    tests: str
    by: str
    reason: str
    until: str


@dataclass(frozen=True, slots=True)
class WaiverUsed:
    """A change passed only because somebody answers for `tests`."""

    TYPE: ClassVar[str] = "validate.waiver_used.v1"
    revision: Sha
    waiver: str
    by: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HarnessCanaried:
    """The harness of one suite was shown known-bad changes, as part of a tier's clock."""

    TYPE: ClassVar[str] = "validate.harness_canaried.v1"
    suite: str
    revision: Sha
    flown: int
    missed: int
    mutants: int
    mutants_caught: int
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class TierBegun:
    """A run of a tier on a revision of trunk began; `run` names it."""

    TYPE: ClassVar[str] = "validate.tier_begun.v1"
    tier: str
    revision: Sha
    run: str
    why: Literal["due", "asked"]


@dataclass(frozen=True, slots=True)
class SuiteLeftOut:
    """A suite of the tier did not run, and why: never counted as green."""

    TYPE: ClassVar[str] = "validate.suite_left_out.v1"
    run: str
    suite: str
    reason: Literal["budget", "no_device", "no_report"]
    message: str


@dataclass(frozen=True, slots=True)
class FindingTriaged:
    """Something turned red or slow, and what it was put down to, before anybody is blamed.

    `good` is the newest revision known to be without it, "" if none is known; `bad` is where it was seen first.
    `evidence` holds the facts.
    """

    TYPE: ClassVar[str] = "validate.finding.v1"
    run: str
    signature: str
    suite: str
    kind: Literal["test", "metric"]
    subject: str
    tests: int
    cause: Cause
    good: str
    bad: Sha
    seconds: float
    gpu_hours: float
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class EndsMeasured:
    """Both ends of a range were measured in turn, to find what separates well from bad; values in the order made."""

    TYPE: ClassVar[str] = "validate.ends_measured.v1"
    metric: str
    good: Sha
    bad: Sha
    old: tuple[float, ...]
    new: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class CulpritAnswered:
    """A culprit search that a trunk run began by itself, with what it cost; `kind` may be `out_of_budget`."""

    TYPE: ClassVar[str] = "validate.culprit_answered.v1"
    run: str
    signature: str
    kind: str
    suspects: tuple[Sha, ...]
    posterior: float
    runs: int
    seconds: float
    gpu_hours: float
    why: str


@dataclass(frozen=True, slots=True)
class IssueFiled:
    """A tracking issue says what is known of a signature; `body` is a digest, so that the same words are said once."""

    TYPE: ClassVar[str] = "validate.issue_filed.v1"
    run: str
    signature: str
    number: int
    url: str
    body: Digest


@dataclass(frozen=True, slots=True)
class IssueClosed:
    """Every test of the signature gave a positive signal on `revision`."""

    TYPE: ClassVar[str] = "validate.issue_closed.v1"
    run: str
    signature: str
    number: int
    revision: Sha


@dataclass(frozen=True, slots=True)
class FixTried:
    """An agent proposed a fix for a failure. `branch` holds it if rails and L1 passed; what it said is in `words`."""

    TYPE: ClassVar[str] = "validate.fix_tried.v1"
    signature: str
    agent: str
    verdict: Literal["passed", "refused", "could_not_run"]
    reason: str
    branch: str
    commit: str
    words: BlobId
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class TierEnded:
    """The tier's answer on that revision. `red`: at least one suite is red or slower; `incomplete`: one did not run."""

    TYPE: ClassVar[str] = "validate.tier_ended.v1"
    tier: str
    revision: Sha
    run: str
    verdict: Literal["green", "red", "incomplete"]
    seconds: float
    gpu_hours: float


@dataclass(frozen=True, slots=True)
class SignoffRequested:
    """Somebody asks for an L3 run: the quote in GPU-hours, and what exactly an approval would be bound to."""

    TYPE: ClassVar[str] = "validate.signoff_requested.v1"
    request: str
    suite: str
    definition: Digest
    revision: Sha
    quote_gpu_hours: float
    past_runs: int
    expires: str
    by: str
    reason: str
    statement: BlobId


@dataclass(frozen=True, slots=True)
class SignoffApproved:
    """A listed approver signed the request's statement; `key` is the fingerprint that verified."""

    TYPE: ClassVar[str] = "validate.signoff_approved.v1"
    request: str
    by: str
    key: str
    signature: BlobId


@dataclass(frozen=True, slots=True)
class SignoffRefused:
    """An approval was handed in and refused; kept, since forgeries are worth seeing."""

    TYPE: ClassVar[str] = "validate.signoff_refused.v1"
    request: str
    by: str
    reason: str
    evidence: BlobId


@dataclass(frozen=True, slots=True)
class SignoffRevoked:
    """An approval (or the request) was taken back."""

    TYPE: ClassVar[str] = "validate.signoff_revoked.v1"
    request: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class SignoffRan:
    """The approved run took place; it uses the approval up, whatever came out."""

    TYPE: ClassVar[str] = "validate.signoff_ran.v1"
    request: str
    revision: Sha
    green: bool
    gpu_hours: float
    report: BlobId


@dataclass(frozen=True, slots=True)
class Promoted:
    """The stable branch stands at `revision` now; `was` is where it stood ("" if it is new)."""

    TYPE: ClassVar[str] = "validate.promoted.v1"
    ref: str
    revision: Sha
    was: str
    request: str
    by: str


TierEvent = (
    SuiteReported
    | QuorumTaken
    | WaiverGranted
    | WaiverUsed
    | HarnessCanaried
    | TierBegun
    | SuiteLeftOut
    | FindingTriaged
    | EndsMeasured
    | CulpritAnswered
    | IssueFiled
    | IssueClosed
    | FixTried
    | TierEnded
    | SignoffRequested
    | SignoffApproved
    | SignoffRefused
    | SignoffRevoked
    | SignoffRan
    | Promoted
)
