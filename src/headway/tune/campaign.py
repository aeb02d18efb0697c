"""The loop: pin the goal, measure the baseline, then ask and try until a budget is spent or the goal is reached.

    goal pinned -> baseline measured -> (agent asked -> attempt's journey)* -> ended(why)

Between any two steps a person's word from the inbox is taken up first. Nothing is kept outside the log: a killed
campaign goes on by reading it, and time in which nothing ran does not count.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.core.events_tune import (
    AgentChosen,
    BudgetSet,
    CampaignContinued,
    CampaignEnded,
    CampaignPaused,
    CampaignSet,
    GoalPinned,
)
from headway.core.events_tune_agent import PriorOffered
from headway.core.inbox import Entry, taken_mark, untaken
from headway.core.journey import Decide, Journey, Stage, drive, fold
from headway.core.names import BlobId, Digest, StreamId
from headway.core.ports.agent import Agent
from headway.core.ports.blobs import BlobStore
from headway.core.ports.clock import Clock
from headway.core.ports.log import EventLog, decoded, one
from headway.core.ports.worker import Worker
from headway.core.reasons import Reason
from headway.core.task import Task
from headway.tune.asking import Asking
from headway.tune.attempt_journey import Attempts, check_task, is_over
from headway.tune.context import Renderer
from headway.tune.evidence import Stopwatch, text_of
from headway.tune.fold import apply
from headway.tune.foresight import Foresight
from headway.tune.goal import goal_block
from headway.tune.prior import Prior
from headway.tune.sameness import digest_of
from headway.tune.state import Campaign, Ranked
from headway.tune.try_outs import TryOuts

DEFAULT_ALPHA = 0.03
"""Chance of any false promotion in a campaign; below 0.05 with room for the luck of a simulation."""
DEFAULT_MIN_GAIN = 0.02
MOST_AGENT_FAILURES = 5
"""Agent calls in a row that may fail through the provider's or the program's fault."""
MOST_DECLINED = 10
"""Agent calls in a row that may be declined: one that never proposes would otherwise be asked for ever."""
MOST_UNDECIDED = 3
"""Attempts in a row that may end undecided before the worker counts as gone."""


def home_of(campaign_id: str) -> StreamId:
    """The campaign's stream."""
    return StreamId(f"campaign/{campaign_id}")


def read(log: EventLog, campaign_id: str) -> Campaign:
    """The campaign as its log tells it. Raises HeadwayError if there is none of that name."""
    journey = Journey(home_of(campaign_id), Campaign(), apply, lambda _: None, {})
    progress = fold(journey, log.read(journey.home))
    if progress.version == 0:
        raise HeadwayError(f"There is no campaign {campaign_id!r} here.", "See `headway tune show`.")
    return progress.state


def settings_of(log: EventLog, campaign_id: str) -> tuple[GoalPinned, CampaignSet]:
    """Goal and settings, from the first records alone. Raises HeadwayError if there is no such campaign."""
    goal = None
    for event in decoded(log.read(home_of(campaign_id))):
        if isinstance(event, GoalPinned):
            goal = event
        elif isinstance(event, CampaignSet) and goal is not None:
            return goal, event
    raise HeadwayError(f"There is no campaign {campaign_id!r} here.", "See `headway tune show`.")


@dataclass(frozen=True)
class Start:
    """What `tune run` decides once and for all, beside the task."""

    agent: str
    seed: int
    context_budget: int
    alpha: float
    min_gain: float
    budget: BudgetSet
    folder: str
    purpose: Literal["campaign", "evaluate"] = "campaign"
    agent_args: dict[str, str] = field(default_factory=dict)


def check_start(task: Task, start: Start) -> None:
    """Raises HeadwayError for what could not be begun, before anything is created."""
    Renderer(task, goal_block(task), lambda _: "", start.context_budget)


def open_campaign(
    log: EventLog, blobs: BlobStore, campaign_id: str, task: Task, start: Start, priors: tuple[Prior, ...] = ()
) -> None:
    """Pin the goal, the rules and what is known of earlier campaigns: the first append of the stream.

    Raises StaleWrite if the campaign exists.
    """
    goal = goal_block(task)
    settings = CampaignSet(
        task.id,
        str(task.folder),
        task.digest,
        start.agent,
        start.seed,
        start.context_budget,
        start.alpha,
        start.min_gain,
        start.folder,
        start.purpose,
        start.agent_args,
        task.hopeless,
    )
    offered = [
        PriorOffered(p.campaign, blobs.put(p.outcomes), None if p.best is None else blobs.put(p.best)) for p in priors
    ]
    pinned = GoalPinned(blobs.put(goal), digest_of(goal))
    log.append(one(home_of(campaign_id), 0, pinned, settings, start.budget, *offered))


@dataclass(frozen=True)
class Loop:
    """A campaign with its ports: `run` drives it as far as it goes."""

    id: str
    task: Task
    log: EventLog
    blobs: BlobStore
    agent: Agent
    worker: Worker
    clock: Clock
    fingerprint: Callable[[], Digest] | None = None
    """The digest of the task's folder as it is now; None: nobody can change it."""
    waits: Callable[[Campaign], bool] = lambda _: True
    """Whether the agent has something to say; where not, the loop ends here and goes on when it is run again."""
    at_once: int = 1
    """Jobs that the worker may be given at a time, as far as later proposals are known before earlier results."""

    def run(self, watch: Callable[[Campaign], None] = lambda _: None) -> Campaign:
        """Go on until it ends or is paused. `watch` sees every state on the way. Settles what a kill left open.

        Raises HeadwayError if the task's folder is no longer the one that the campaign was started with.
        """
        stopwatch = Stopwatch.started(self.clock.monotonic)
        pinned, settings = settings_of(self.log, self.id)
        fingerprint = self.fingerprint or (lambda: self.task.digest)
        check_task(settings, self.task, fingerprint())
        home = home_of(self.id)
        goal = text_of(self.blobs, pinned.goal)
        renderer = Renderer(self.task, goal, CachedTexts(self.blobs), settings.context_budget)
        attempts = Attempts(home, self.task, self.worker, self.blobs, stopwatch, fingerprint)
        asking = Asking(
            home, self.task, self.agent, self.blobs, renderer, stopwatch, TryOuts(attempts, renderer.texts).try_out
        )
        foresight = Foresight(asking, attempts, self.at_once)
        attempts = replace(attempts, ahead=foresight.jobs)
        evaluate, ask = attempts.evaluate(), asking.ask()

        def next_stage(state: Campaign) -> Stage[Campaign] | None:
            if words := untaken(self.log, home, state.inbox):
                return Decide("inbox", lambda _: {home: take(home, words)})
            if state.ended is not None or state.paused:
                return None
            if state.current is not None:
                return attempts.stage(state)
            if (end := why_end(state, self.task)) is not None:
                return Decide("end", lambda _: {home: (end,)})
            if needs_baseline(state):
                return evaluate
            if state.waiting:
                return asking.take()
            return ask if self.waits(state) else None

        def until(state: Campaign) -> bool:
            watch(state)
            return False

        journey = Journey(home, Campaign(), apply, next_stage, {"evaluate": evaluate, "ask": ask})
        return drive(journey, self.log, until=until)


class CachedTexts:
    """Texts of blobs, kept while a process lives: a context reads hundreds of hypotheses, each the same for ever."""

    def __init__(self, blobs: BlobStore, most: int = 4096) -> None:
        self._blobs = blobs
        self._kept: dict[str, str] = {}
        self._most = most

    def __call__(self, blob: str) -> str:
        if blob not in self._kept:
            if len(self._kept) >= self._most:
                del self._kept[next(iter(self._kept))]
            self._kept[blob] = text_of(self._blobs, BlobId(blob))
        return self._kept[blob]


def needs_baseline(state: Campaign) -> bool:
    """Whether the baseline must be measured against itself first; an evaluation promotes nothing and needs no noise."""
    return state.baseline is None and state.needed.purpose == "campaign"


def why_end(state: Campaign, task: Task) -> CampaignEnded | None:
    """Why no further attempt is begun; None: go on. A budget counts from the campaign's first event."""
    if needs_baseline(state):
        trouble = state.trouble
        if trouble is not None and is_over(trouble, state.baseline_lost):
            return CampaignEnded("could_not_run", "", trouble.reason, trouble.result)
        return None
    if state.undecided >= MOST_UNDECIDED:
        return CampaignEnded("could_not_run", "worker", Reason.INFRASTRUCTURE, None)
    if state.hopeless_agent or state.agent_failures >= MOST_AGENT_FAILURES or state.declined >= MOST_DECLINED:
        return CampaignEnded("could_not_run", "agent", Reason.INFRASTRUCTURE, state.asides[-1].text)
    best = state.incumbent
    if task.target_ratio and best is not None and isinstance(best.outcome, Ranked):
        if best.outcome.speed.low >= task.target_ratio:
            return CampaignEnded("goal_reached", "", None, None)
    if state.exhausted:
        return CampaignEnded("exhausted", "", None, None)
    spent, budget = state.spent, state.budget
    limits = {
        "attempts": (spent.attempts, budget.attempts),
        "calls": (spent.calls, budget.calls),
        "seconds": (spent.seconds, budget.seconds),
        "tokens": (spent.tokens, budget.tokens),
        "money": (spent.money, budget.money),
    }
    for name, (used, limit) in limits.items():
        if limit is not None and used >= limit:
            return CampaignEnded("budget_spent", name, Reason.BUDGET, None)
    if budget.stall is not None and spent.stall >= budget.stall:
        return CampaignEnded("stalled", "stall", Reason.BUDGET, None)
    return None


def take(home: StreamId, words: tuple[Entry, ...]) -> tuple[Event, ...]:
    """The facts that people's words amount to, with the mark that they were taken up.

    Verbs of other rooms mean nothing here; the mark keeps them from being read for ever.
    """
    events: list[Event] = []
    for word in words:
        match word.decision.verb:
            case "stop":
                events.append(CampaignEnded("stopped", word.decision.by, None, None))
            case "pause":
                events.append(CampaignPaused(word.decision.by))
            case "resume":
                events.append(CampaignContinued(word.decision.by))
    return (*events, taken_mark(home, words))


def take_up(log: EventLog, campaign_id: str) -> None:
    """What the loop does with its inbox, done without one. The caller holds the writer lock."""
    home = home_of(campaign_id)
    if words := untaken(log, home, read(log, campaign_id).inbox):
        log.append(one(home, log.heads(home)[home], *take(home, words)))


def go_on(log: EventLog, campaign_id: str, by: str, budget: BudgetSet | None, agent: AgentChosen | None = None) -> None:
    """`tune resume`: lift a pause or an end, and set a new budget or agent if given. The caller holds the lock."""
    state = read(log, campaign_id)
    home = home_of(campaign_id)
    events: list[Event] = []
    if budget is not None and budget != state.budget:
        events.append(budget)
    if agent is not None and (agent.agent, agent.agent_args) != (state.needed.agent, state.needed.agent_args):
        events.append(agent)
    if state.paused or state.ended is not None:
        events.append(CampaignContinued(by))
    if events:
        log.append(one(home, log.heads(home)[home], *events))
