"""How a candidate travels from the agent to the scoreboard.

    proposed -> admitted -> screened -> checked and measured in full -> re-measured for promotion -> ranked
                   |            |                |                              |
                   +------------+----------------+------------------------------+--> refused(reason)

A screening that is hopelessly slow, and a full measurement that does not beat the incumbent, are ranked at once. A
refused attempt has no speed. Where the worker could not run a job it is tried again; an attempt that could never be
run ends undecided: neither right nor wrong.

`next_step` is the whole story; below it stand the stages it names. Each worker job is an effect with a key of its
own: after a kill its result is looked for under that key, and only if there is none the job runs again.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.core.events_core import IntentNamed
from headway.core.events_tune import (
    AttemptAdmitted,
    AttemptRanked,
    AttemptRefused,
    AttemptUndecided,
    BaselineMeasured,
    CampaignEnded,
    CampaignSet,
    JobDone,
    JobMode,
)
from headway.core.file_bundle import files_in
from headway.core.gates import Refused
from headway.core.journey import Act, Decide, Facts, Settled, Stage
from headway.core.names import Digest, EffectKey, StreamId
from headway.core.ports.blobs import BlobStore
from headway.core.ports.worker import Mode, Worker, WorkerJob, WorkerResult
from headway.core.reasons import Reason
from headway.core.task import Task
from headway.tune.evidence import (
    Stopwatch,
    baseline_facts,
    complete,
    could_not_run,
    facts_of,
    keep_result,
    refusal,
    text_of,
)
from headway.tune.measure import promotion
from headway.tune.rails import admitted
from headway.tune.sameness import digest_of
from headway.tune.state import BASELINE, Attempt, Campaign, InFlight, Ranked

Step = Literal["admit", "screen", "full", "promote", "confirm", "rank", "give_up"]

MOST_TRIES = 2
"""A job that the worker could not run is sent this often."""
HOPELESS_TROUBLE = frozenset({Reason.NO_COMPILER, Reason.NO_DEVICE, Reason.NO_COMMAND, Reason.DISK_FULL})
"""What no second try will change."""
BLOCKS_IN_JOB_SECONDS = 16
"""A-B-B-A blocks that a task's `[limits]` allow time for; a test that needs more gets more in proportion."""
TEST_SHARE = 0.08
"""Of the campaign's seconds that one promotion test may take."""
WAIT_SECONDS = 600.0
"""A worker may be busy with jobs that were sent ahead, or be proving the task."""
SCREEN_BLOCKS, BASELINE_BLOCKS, EVALUATE_BLOCKS, SLOW_BLOCKS = 3, 12, 12, 3
"""A-B-B-A blocks per case. Those of a full measurement follow from the noise, of a promotion test from its plan; a
metric command's run takes seconds, and so a look at it has SLOW_BLOCKS, its baseline twice that."""


def next_step(campaign: Campaign, attempt: Attempt) -> Step:
    """What happens to the attempt in flight next. The last event decides."""
    flight = attempt.outcome
    assert isinstance(flight, InFlight)
    if not flight.admitted:
        return "admit"
    if flight.trouble is not None and flight.lost and is_over(flight.trouble, flight.lost):
        return "give_up"
    if campaign.needed.purpose == "evaluate":
        return "rank" if "full" in flight.done else "full"
    if "screen" not in flight.done:
        return "screen"
    if "full" not in flight.done:
        return "rank" if flight.speeds["screen"].high < campaign.needed.hopeless * best_screened(campaign) else "full"
    if "promote" not in flight.done:
        full, min_gain = flight.speeds["full"], campaign.needed.min_gain
        worth_it = promotion.promising(full.ratio, full.high, best_ratio(campaign), min_gain)
        return "promote" if worth_it else "rank"
    if flight.promotion is not None and flight.promotion.promoted and flight.promotion.rival != BASELINE:
        return "rank" if "confirm" in flight.done else "confirm"
    return "rank"


def is_over(trouble: JobDone, tries: int) -> bool:
    """Whether sending the job again is no use."""
    return tries >= MOST_TRIES or trouble.reason in HOPELESS_TROUBLE


def best_ratio(campaign: Campaign) -> float:
    """The incumbent's speed against the baseline; 1.0 while that is the baseline."""
    best = campaign.incumbent
    return best.outcome.speed.ratio if best is not None and isinstance(best.outcome, Ranked) else 1.0


def best_screened(campaign: Campaign) -> float:
    """The incumbent's own screening against the baseline; its speed where it has none, 1.0 for the baseline."""
    best = campaign.incumbent
    if best is None or not isinstance(best.outcome, Ranked):
        return 1.0
    return (best.outcome.screened or best.outcome.speed).ratio


def promotion_plan(campaign: Campaign) -> promotion.Test:
    """The promotion test of the attempt in flight, fixed before it is run: by the noise, and by what was promised."""
    assert campaign.baseline is not None and campaign.current is not None
    settings, baseline, flight = campaign.needed, campaign.baseline, campaign.current.outcome
    assert isinstance(flight, InFlight)
    gain = promotion.sized_for(flight.speeds["full"].ratio / best_ratio(campaign), settings.min_gain)
    most = promotion.MOST_BLOCKS
    if campaign.budget.seconds is not None and flight.block_seconds:
        most = min(most, int(TEST_SHARE * campaign.budget.seconds / flight.block_seconds))
    return promotion.plan(campaign.tests + 1, settings.alpha, baseline.noise, baseline.timed_cases, gain, most)


def check_task(settings: CampaignSet, task: Task, now: Digest) -> None:
    """Raises HeadwayError if the task is no longer the one that the campaign was begun with."""
    if settings.task_digest != now:
        raise HeadwayError(
            f"The folder of the task {task.id} has changed since this campaign began.",
            "Put it back and resume, or start a new campaign on the changed task.",
        )


def blocks_of(campaign: Campaign, mode: Step, slow: bool) -> int:
    """A-B-B-A blocks per case for a job of the attempt in flight. `slow`: a block takes seconds, not milliseconds."""
    match mode:
        case "screen" | "full" if slow:
            return SLOW_BLOCKS
        case "screen":
            return SCREEN_BLOCKS
        case "full" if campaign.baseline is None:
            return EVALUATE_BLOCKS
        case "full":
            assert campaign.baseline is not None
            return promotion.blocks_for_a_look(campaign.baseline.noise, campaign.baseline.timed_cases)
        case _:
            return promotion_plan(campaign).blocks


@dataclass(frozen=True)
class Attempts:
    """The stages of an attempt, with the ports they need. `home` is the campaign's stream."""

    home: StreamId
    task: Task
    worker: Worker
    blobs: BlobStore
    stopwatch: Stopwatch
    fingerprint: Callable[[], Digest]
    """The digest of the task's folder as it is now."""
    ahead: Callable[[Campaign], tuple[WorkerJob, ...]] = lambda _: ()
    """Jobs that later attempts will need and that are known already: a worker may do them beside this one."""

    def stage(self, campaign: Campaign) -> Stage[Campaign]:
        """The next stage of the attempt in flight."""
        assert campaign.current is not None
        match next_step(campaign, campaign.current):
            case "admit":
                return Decide("admit", self._on_current(self._admit))
            case "give_up":
                return Decide("give_up", self._on_current(self._give_up))
            case "rank":
                return Decide("rank", self._on_current(self._rank))
            case _:
                return self.evaluate()

    def evaluate(self) -> Act[Campaign]:
        """One worker job for the attempt in flight, or for the baseline while there is none."""
        return Act("evaluate", self._intend, self._effect, self._settle)

    # --- decisions

    def _admit(self, campaign: Campaign, attempt: Attempt) -> Event:
        if attempt.outside:
            return AttemptRefused(attempt.id, "admission", Reason.OUTSIDE_EDITABLE, None, None)
        for earlier in campaign.attempts:
            if earlier.outside:
                continue  # refused for what is no part of its source: that was never tried
            if attempt.normal == earlier.normal or attempt.digest == earlier.digest:
                return AttemptRefused(attempt.id, "admission", Reason.DUPLICATE, None, earlier.id)
        if self.task.command is not None:
            after = files_in(text_of(self.blobs, attempt.source))
            verdict = admitted(self.task.command, files_in(self.task.baseline), after)
            if isinstance(verdict, Refused):
                return refusal(attempt.id, "admission", verdict, self.blobs)
        return AttemptAdmitted(attempt.id)

    def _rank(self, _: Campaign, attempt: Attempt) -> Event:
        flight = attempt.outcome
        assert isinstance(flight, InFlight)
        modes: tuple[JobMode, ...] = ("full", "screen")
        if flight.promotion is not None and flight.promotion.rival == BASELINE:
            modes = ("promote",)  # measured again against the baseline: that number, never the lucky one
        elif "confirm" in flight.done:
            modes = ("confirm",)
        mode = next(m for m in modes if m in flight.speeds)
        speed = flight.speeds[mode]
        return AttemptRanked(attempt.id, speed.ratio, speed.low, speed.high, mode)

    def _give_up(self, _: Campaign, attempt: Attempt) -> Event:
        assert isinstance(attempt.outcome, InFlight) and attempt.outcome.trouble is not None
        trouble = attempt.outcome.trouble
        return AttemptUndecided(attempt.id, trouble.reason or Reason.INFRASTRUCTURE, trouble.result)

    def _on_current(self, decide: Callable[[Campaign, Attempt], Event]) -> Callable[[Campaign], Facts]:
        def facts(campaign: Campaign) -> Facts:
            assert campaign.current is not None
            return {self.home: (decide(campaign, campaign.current),)}

        return facts

    # --- the worker job

    def _intend(self, campaign: Campaign) -> IntentNamed:
        if campaign.current is None:
            number, mode, tries = BASELINE, "baseline", campaign.baseline_lost
            blocks = BASELINE_BLOCKS if self.task.command is None else 2 * SLOW_BLOCKS
        else:
            flight = campaign.current.outcome
            assert isinstance(flight, InFlight)
            number, tries = campaign.current.id, flight.lost
            mode = next_step(campaign, campaign.current)
            blocks = blocks_of(campaign, mode, self.task.command is not None)
        source = "" if campaign.current is None else campaign.current.digest
        key = self.key(number, source, mode, tries + 1)
        args = {"attempt": str(number), "mode": mode, "blocks": str(blocks), "try": str(tries + 1)}
        return IntentNamed("evaluate", EffectKey(key), args)

    def key(self, number: int, source: str, mode: str, tries: int) -> str:
        """Letters, digits and dashes: it names a folder on a spool. It is bound to the source, so that a job that was
        foreseen and turned out otherwise answers for nobody else."""
        bound = f"-{source[:8]}" if source else ""
        return f"{self.home.rpartition('/')[2]}-a{number}{bound}-{mode}-{tries}"

    def screening(self, campaign: Campaign, number: int, source: str, knobs: Mapping[str, int | str]) -> WorkerJob:
        """The first job that attempt `number` will need if it is made from `source`."""
        return WorkerJob(
            key=self.key(number, digest_of(source), "screen", 1),
            task_dir=self.task.folder,
            candidate=source,
            mode="screen",
            seed=campaign.needed.seed * 1_000_003 + number,
            pairs=SCREEN_BLOCKS,
            seconds=self.task.job_seconds,
            knobs=knobs,
        )

    def job(self, campaign: Campaign, intent: IntentNamed) -> WorkerJob:
        """The job an intent stands for. The same intent gives the same job, before and after a kill."""
        mode: JobMode = intent.args["mode"]  # type: ignore[assignment]  # written by _intend
        number = int(intent.args["attempt"])
        candidate = self.task.baseline if number == BASELINE else text_of(self.blobs, campaign.attempt(number).source)
        rival = campaign.incumbent if mode == "promote" else None
        sent: Mode = "promote" if mode == "confirm" else mode
        return WorkerJob(
            key=intent.key,
            task_dir=self.task.folder,
            candidate=candidate,
            mode=sent,
            seed=campaign.needed.seed * 1_000_003 + number,
            pairs=int(intent.args["blocks"]),
            rival=None if rival is None else text_of(self.blobs, rival.source),
            seconds=self.task.job_seconds * max(1.0, int(intent.args["blocks"]) / BLOCKS_IN_JOB_SECONDS),
            knobs={} if number == BASELINE else campaign.attempt(number).knobs,
        )

    def _effect(self, campaign: Campaign, intent: IntentNamed) -> Facts:
        check_task(campaign.needed, self.task, self.fingerprint())  # each job carries a copy of the folder
        job = self.job(campaign, intent)
        self.worker.submit(job)
        for foreseen in self.ahead(campaign):
            self.worker.submit(foreseen)
        result = self.worker.collect(job.key, job.seconds * 2 + WAIT_SECONDS)
        if result is None:
            result = could_not_run(job.key, Reason.TIMED_OUT, "The worker gave no answer in twice the job's time.")
        return self._facts(campaign, intent, result)

    def _settle(self, campaign: Campaign, intent: IntentNamed) -> Settled:
        result = self.worker.collect(intent.key, 0.0)
        if result is None:
            return Settled("again")
        return Settled("finished", self._facts(campaign, intent, result))

    def _facts(self, campaign: Campaign, intent: IntentNamed, result: WorkerResult) -> Facts:
        number = int(intent.args["attempt"])
        mode: JobMode = intent.args["mode"]  # type: ignore[assignment]  # written by _intend
        result = complete(self.task, mode, int(intent.args["try"]), result)
        done = keep_result(self.blobs, number, mode, int(intent.args["blocks"]), result, self.stopwatch.lap())
        if number == BASELINE:
            return {self.home: (done, *self._baseline_facts(result))}
        test = promotion_plan(campaign) if mode == "promote" else None
        events = facts_of(self.task, campaign, number, mode, result, test, self.blobs)
        if result.outcome != "could_not_run" and not events:
            raise AssertionError("a result without a fact would be asked for again for ever")
        return {self.home: (done, *events)}

    def _baseline_facts(self, result: WorkerResult) -> tuple[Event, ...]:
        event: BaselineMeasured | CampaignEnded | None = baseline_facts(self.task, result, self.blobs)
        return () if event is None else (event,)
