"""Facts of the tune room. One frozen dataclass per fact; free text goes into blobs, never inline.

All of them live in `campaign/<id>`. An attempt ends in exactly one of `AttemptRefused`, `AttemptRanked` and
`AttemptUndecided`; only `AttemptRanked` has a speed.
"""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from headway.core.events_tune_agent import NoteKept, PriorOffered, ProposalWaiting, TriedOut
from headway.core.names import BlobId, Digest, EffectKey
from headway.core.reasons import Reason

JobMode = Literal["screen", "full", "promote", "confirm", "baseline"]
"""What a worker job was for. `confirm` re-measures a promoted candidate against the task's baseline, for the report."""

Phase = Literal["admission", "compile", "correctness", "timing"]
"""Where an attempt was refused."""

End = Literal["goal_reached", "budget_spent", "stalled", "exhausted", "stopped", "could_not_run", "task_refused"]
"""How a campaign ended. `exhausted`: the agent had nothing left; `task_refused`: the task itself cannot be trusted."""


@dataclass(frozen=True, slots=True)
class GoalPinned:
    """Always the first event of a campaign, and never changed. `digest` is the sha256 of the goal's text."""

    TYPE: ClassVar[str] = "tune.goal.v1"
    goal: BlobId
    digest: Digest


@dataclass(frozen=True, slots=True)
class CampaignSet:
    """What else stays as it is: the task and its digest, who proposes, and the rules of promotion."""

    TYPE: ClassVar[str] = "tune.set.v1"
    task: str
    task_dir: str
    task_digest: Digest
    agent: str
    seed: int
    context_budget: int
    """Tokens a context may have, counted as ceil(bytes / 3)."""
    alpha: float
    """Chance, over the whole campaign, that anything is promoted that is not faster."""
    min_gain: float
    """The smallest gain the promotion test is sized to find, e.g. 0.02."""
    folder: str
    """Where people find what it made; the log does not depend on it."""
    purpose: Literal["campaign", "evaluate"] = "campaign"
    """`evaluate`: one candidate through every gate, no baseline run, no screening, nothing promoted."""
    agent_args: dict[str, str] = field(default_factory=dict)
    hopeless: float = 0.8
    """A screening whose upper bound is below this share of the incumbent's is not followed up."""


@dataclass(frozen=True, slots=True)
class AgentChosen:
    """From here on another agent proposes. Goal, ledger, incumbent and what was used stay as they are."""

    TYPE: ClassVar[str] = "tune.agent.v1"
    agent: str
    agent_args: dict[str, str]
    """What makes it the same agent again after a kill; never a secret."""
    by: str


@dataclass(frozen=True, slots=True)
class Submitted:
    """A candidate from outside, in `submissions/campaign/<id>`; its version there is its number."""

    TYPE: ClassVar[str] = "tune.submitted.v1"
    key: str
    """The submitter's own: the same key is the same submission."""
    source: BlobId
    hypothesis: BlobId
    parent: str


@dataclass(frozen=True, slots=True)
class SubmissionTaken:
    """The agent call `call` was answered with submission `submission`, in the same append as what came of it."""

    TYPE: ClassVar[str] = "tune.taken.v1"
    call: int
    submission: int


@dataclass(frozen=True, slots=True)
class BudgetSet:
    """What the campaign may use in all, counted from its beginning; None is no limit. The newest one holds."""

    TYPE: ClassVar[str] = "tune.budget.v1"
    attempts: int | None
    calls: int | None
    seconds: float | None
    """Wall-clock seconds used by headway's own steps; time when nothing ran does not count."""
    tokens: int | None
    money: float | None
    stall: int | None
    """Attempts without a promotion after which the campaign ends."""


@dataclass(frozen=True, slots=True)
class BaselineMeasured:
    """The baseline against itself (A/A): the noise the promotion test is sized by."""

    TYPE: ClassVar[str] = "tune.baseline.v1"
    noise: float
    """Standard deviation of the log ratio of one A-B-B-A block, pooled over the timed cases."""
    timed_cases: int
    estimate: bool
    profile: BlobId | None = None


@dataclass(frozen=True, slots=True)
class ContextShown:
    """The compaction record of one agent call: exactly what was shown, and how it was cut.

    Strategies below `full_from` stand in groups of `group_size` ids; turns below `tail_from` are left to `recall`.
    """

    TYPE: ClassVar[str] = "tune.context.v1"
    call: int
    context: BlobId
    renderer: int
    tokens: int
    goal: Digest
    budget: int
    """Tokens it was allowed; less than the campaign's after a provider said that a context was too long."""
    full_from: int
    group_size: int
    tail_from: int


@dataclass(frozen=True, slots=True)
class Proposed:
    """An agent proposed a candidate. `normal` is the digest after comments and layout are taken out."""

    TYPE: ClassVar[str] = "tune.proposed.v1"
    attempt: int
    call: int
    goal: Digest
    strategy: int
    idea: Digest
    """Of the hypothesis without case and spacing: the same idea is the same strategy."""
    hypothesis: BlobId
    source: BlobId
    digest: Digest
    normal: Digest
    parent: int | None
    """The attempt it builds on; None for the baseline."""
    outside: tuple[str, ...]
    """Files it edited that are not the candidate's."""
    resembles: int | None
    """A failed strategy that this one nearly repeats."""
    knobs: dict[str, int | str]
    tokens: int
    money: float
    seconds: float
    transcript: BlobId | None
    review: BlobId | None = None
    """Another model's words on it, advisory."""
    waited: bool = False
    """It was made by an earlier answer to the same call, and counted with it."""


@dataclass(frozen=True, slots=True)
class DeskAsked:
    """While it thought, the agent asked for something that compaction had folded away, and this was the answer."""

    TYPE: ClassVar[str] = "tune.desk.v1"
    call: int
    question: str
    subject: str
    answer: BlobId


@dataclass(frozen=True, slots=True)
class AgentTrouble:
    """Something went wrong between agent and provider, and was dealt with by policy."""

    TYPE: ClassVar[str] = "tune.trouble.v1"
    call: int
    kind: str
    detail: BlobId
    waited_seconds: float


@dataclass(frozen=True, slots=True)
class NothingProposed:
    """The agent had nothing, or failed; `kind` says which (see `core/ports/agent.py`)."""

    TYPE: ClassVar[str] = "tune.nothing.v1"
    call: int
    kind: Literal["exhausted", "declined", "provider_error", "timed_out", "malformed", "died", "context_overflow"]
    permanent: bool
    """Asking again cannot help."""
    message: BlobId
    tokens: int
    money: float
    seconds: float
    transcript: BlobId | None


@dataclass(frozen=True, slots=True)
class AttemptAdmitted:
    """headway's own admission passed: inside the candidate's files, and not tried before."""

    TYPE: ClassVar[str] = "tune.admitted.v1"
    attempt: int


@dataclass(frozen=True, slots=True)
class JobDone:
    """A worker job gave its result; one per key, which is what makes an evaluation count once."""

    TYPE: ClassVar[str] = "tune.job.v1"
    attempt: int
    """0 for the baseline."""
    mode: JobMode
    key: EffectKey
    blocks: int
    """A-B-B-A blocks a case that were asked for."""
    outcome: Literal["measured", "refused", "could_not_run"]
    reason: Reason | None
    """Why it could not run."""
    result: BlobId
    """The worker's whole answer as JSON: the raw samples of every decision."""
    seconds: float
    compile_seconds: float
    check_seconds: float
    measure_seconds: float


@dataclass(frozen=True, slots=True)
class AttemptCorrect:
    """Every case the mode asks for is within its tolerance. `worst` is the largest error / tolerance."""

    TYPE: ClassVar[str] = "tune.correct.v1"
    attempt: int
    mode: JobMode
    cases: int
    held_out: int
    worst: float


@dataclass(frozen=True, slots=True)
class AttemptMeasured:
    """Rival's time / candidate's time over the timed cases, with a 95 % bootstrap interval."""

    TYPE: ClassVar[str] = "tune.measured.v1"
    attempt: int
    mode: JobMode
    rival: int
    """The attempt timed against; 0 is the baseline."""
    ratio: float
    low: float
    high: float
    blocks: int
    estimate: bool
    profile: BlobId | None


@dataclass(frozen=True, slots=True)
class PromotionDecided:
    """A re-measure in a fresh process, with `blocks` fixed before it began and `alpha` of the campaign's error."""

    TYPE: ClassVar[str] = "tune.promotion.v1"
    attempt: int
    test: int
    """The how-manieth promotion test of the campaign; the error it may spend shrinks with its square."""
    rival: int
    promoted: bool
    reason: Reason | None
    ratio: float
    bound: float
    """Lower confidence bound of the ratio at `alpha`, one-sided."""
    blocks: int
    alpha: float


@dataclass(frozen=True, slots=True)
class AttemptRefused:
    """An end: some gate said no. A refused attempt has no speed."""

    TYPE: ClassVar[str] = "tune.refused.v1"
    attempt: int
    at: Phase
    reason: Reason
    evidence: BlobId | None
    earlier: int | None
    """The attempt that was the same candidate, for `duplicate`."""


@dataclass(frozen=True, slots=True)
class AttemptRanked:
    """An end: right, and this fast against the baseline."""

    TYPE: ClassVar[str] = "tune.ranked.v1"
    attempt: int
    ratio: float
    low: float
    high: float
    mode: JobMode
    """The kind of job the numbers are from: `screen` ones are rough."""


@dataclass(frozen=True, slots=True)
class AttemptUndecided:
    """An end: the harness could not run it, several times over. Neither right nor wrong."""

    TYPE: ClassVar[str] = "tune.undecided.v1"
    attempt: int
    reason: Reason
    evidence: BlobId | None


@dataclass(frozen=True, slots=True)
class CampaignPaused:
    """A person paused it; `tune resume` goes on."""

    TYPE: ClassVar[str] = "tune.paused.v1"
    by: str


@dataclass(frozen=True, slots=True)
class CampaignContinued:
    """`tune resume` after a pause or an end; an end by budget ends again at once unless the budget grew."""

    TYPE: ClassVar[str] = "tune.continued.v1"
    by: str


@dataclass(frozen=True, slots=True)
class CampaignEnded:
    """No further attempts. `limit` names the budget that was spent; `reason` why nothing could run."""

    TYPE: ClassVar[str] = "tune.ended.v1"
    state: End
    limit: str
    reason: Reason | None
    evidence: BlobId | None


TuneEvent = (
    GoalPinned
    | CampaignSet
    | AgentChosen
    | Submitted
    | SubmissionTaken
    | BudgetSet
    | BaselineMeasured
    | ContextShown
    | Proposed
    | ProposalWaiting
    | DeskAsked
    | NoteKept
    | TriedOut
    | PriorOffered
    | AgentTrouble
    | NothingProposed
    | AttemptAdmitted
    | JobDone
    | AttemptCorrect
    | AttemptMeasured
    | PromotionDecided
    | AttemptRefused
    | AttemptRanked
    | AttemptUndecided
    | CampaignPaused
    | CampaignContinued
    | CampaignEnded
)
