"""What is known of a campaign at one moment: values, nothing else. `fold.py` makes them from the log.

An attempt's `outcome` says what is known of it; only `Ranked` holds a speed, so a refused attempt cannot have one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from headway.core.events_tune import (
    BaselineMeasured,
    BudgetSet,
    CampaignEnded,
    CampaignSet,
    GoalPinned,
    JobDone,
    JobMode,
    Phase,
    PromotionDecided,
)
from headway.core.events_tune_agent import NoteKept, PriorOffered, ProposalWaiting
from headway.core.names import BlobId, Digest
from headway.core.reasons import Reason

BASELINE = 0
"""The attempt number that stands for the task's own baseline."""

NO_BUDGET = BudgetSet(None, None, None, None, None, None)
"""Nothing is limited."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Rival's time / candidate's time, over 1 is faster, with its 95 % interval; `blocks` A-B-B-A blocks a case."""

    ratio: float
    low: float
    high: float
    blocks: int
    estimate: bool


@dataclass(frozen=True, slots=True)
class InFlight:
    """On its way. `done` are the modes whose jobs gave a result, `lost` how many tries in a row gave none."""

    admitted: bool = False
    done: tuple[JobMode, ...] = ()
    speeds: Mapping[JobMode, Speed] = field(default_factory=dict)
    promotion: PromotionDecided | None = None
    lost: int = 0
    trouble: JobDone | None = None
    """The newest job that could not run."""
    profile: BlobId | None = None
    block_seconds: float = 0.0
    """What one block over all timed cases took in the full measurement."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A gate said no."""

    at: Phase
    reason: Reason
    evidence: BlobId | None
    earlier: int | None


@dataclass(frozen=True, slots=True)
class Ranked:
    """Right, and this fast against the baseline. `promotion` is the re-measure against the incumbent, if it got one."""

    speed: Speed
    mode: JobMode
    promotion: PromotionDecided | None
    profile: BlobId | None
    screened: Speed | None = None
    """What its screening said: later screenings are compared with this one, not with a mean over other cases."""

    @property
    def promoted(self) -> bool:
        """Whether it became the incumbent."""
        return self.promotion is not None and self.promotion.promoted


@dataclass(frozen=True, slots=True)
class Undecided:
    """The harness could not say."""

    reason: Reason
    evidence: BlobId | None


Outcome = InFlight | Refusal | Ranked | Undecided


@dataclass(frozen=True, slots=True)
class Attempt:
    """One candidate's trip through the gates; numbered from 1."""

    id: int
    call: int
    strategy: int
    hypothesis: BlobId
    source: BlobId
    digest: Digest
    normal: Digest
    parent: int | None
    outside: tuple[str, ...]
    resembles: int | None
    knobs: Mapping[str, int | str]
    outcome: Outcome
    used: float
    """Seconds the campaign had used when the attempt was proposed."""
    review: BlobId | None = None


@dataclass(frozen=True, slots=True)
class Strategy:
    """One hypothesis with its attempts, newest last; numbered from 1."""

    id: int
    idea: Digest
    hypothesis: BlobId
    attempts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Aside:
    """An agent call that gave no proposal, and why."""

    call: int
    kind: str
    text: BlobId


@dataclass(frozen=True, slots=True)
class Spent:
    """What the campaign has used, from its first event on."""

    attempts: int = 0
    calls: int = 0
    seconds: float = 0.0
    tokens: int = 0
    money: float = 0.0
    stall: int = 0


@dataclass(frozen=True, slots=True)
class Phases:
    """Where the worker's time went, in seconds."""

    compile: float = 0.0
    check: float = 0.0
    measure: float = 0.0
    agent: float = 0.0
    overhead: float = 0.0


@dataclass(frozen=True, slots=True)
class Campaign:
    """The fold of `campaign/<id>`."""

    goal: GoalPinned | None = None
    settings: CampaignSet | None = None
    budget: BudgetSet = NO_BUDGET
    baseline: BaselineMeasured | None = None
    baseline_lost: int = 0
    trouble: JobDone | None = None
    """The newest baseline job that could not run."""
    current: Attempt | None = None
    attempts: tuple[Attempt, ...] = ()
    """Those that have ended, in order: attempt n stands at n - 1."""
    strategies: tuple[Strategy, ...] = ()
    asides: tuple[Aside, ...] = ()
    waiting: tuple[ProposalWaiting, ...] = ()
    """Proposals of the newest call that are not tried yet, oldest first."""
    notes: tuple[NoteKept, ...] = ()
    prior: tuple[PriorOffered, ...] = ()
    """Earlier campaigns on the same task, as they were offered when this one began."""
    promotions: tuple[int, ...] = ()
    """The incumbents there have been, as attempt numbers, newest last."""
    tests: int = 0
    agent_calls: int = 0
    contexts: int = 0
    agent_failures: int = 0
    """Agent calls in a row that failed through no fault of the campaign's."""
    agent_from: int = 0
    """How many agent calls there were when the present agent was put to work."""
    declined: int = 0
    """Agent calls in a row that were declined."""
    hopeless_agent: bool = False
    """The agent said that asking again cannot help."""
    taken: int = 0
    """The newest submission from outside that was taken up."""
    squeezes: int = 0
    """How often a provider said that a context was too long."""
    undecided: int = 0
    """Attempts in a row that ended undecided."""
    exhausted: bool = False
    full_from: int = 1
    group_size: int = 0
    tail_from: int = 0
    spent: Spent = Spent()
    phases: Phases = Phases()
    inbox: int = 0
    paused: bool = False
    ended: CampaignEnded | None = None

    @property
    def incumbent(self) -> Attempt | None:
        """The best candidate so far; None while it is the baseline."""
        return self.attempts[self.promotions[-1] - 1] if self.promotions else None

    def attempt(self, number: int) -> Attempt:
        """Attempt `number`, ended or in flight. Raises KeyError."""
        if self.current is not None and self.current.id == number:
            return self.current
        if not 1 <= number <= len(self.attempts):
            raise KeyError(number)
        return self.attempts[number - 1]

    @property
    def needed(self) -> CampaignSet:
        """The campaign's fixed settings; there from its first append on."""
        assert self.settings is not None, "a campaign without settings was folded from something that is no campaign"
        return self.settings
