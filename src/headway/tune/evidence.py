"""From a worker's raw answer to facts: runs the gates over it in order and keeps what they were decided on as blobs."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from headway.core.events import Event
from headway.core.events_tune import (
    AttemptCorrect,
    AttemptMeasured,
    AttemptRefused,
    BaselineMeasured,
    CampaignEnded,
    JobDone,
    JobMode,
    Phase,
    PromotionDecided,
)
from headway.core.gates import PASSED, NotDecided, Refused
from headway.core.names import BlobId, EffectKey
from headway.core.ports.blobs import BlobStore
from headway.core.ports.worker import WorkerRefusal, WorkerResult
from headway.core.reasons import Reason
from headway.core.task import Task
from headway.tune.measure import promotion
from headway.tune.measure.correctness import correct, worst_of
from headway.tune.measure.digest import profile_of
from headway.tune.measure.floor import above_floor
from headway.tune.measure.timing import BadSamples, noise_of, ratio_of
from headway.tune.state import BASELINE, Campaign

ADMISSION = frozenset(
    {
        Reason.SYNTAX,
        Reason.NO_ENTRY,
        Reason.BANNED_IMPORT,
        Reason.BANNED_CALL,
        Reason.DUPLICATE,
        Reason.OUTSIDE_EDITABLE,
        Reason.TAMPERED,
        Reason.ALIASED,
        Reason.COUNT_EVADED,
        Reason.RETRY_ADDED,
    }
)
TIMING = frozenset({Reason.TIMING_DISAGREES, Reason.BELOW_FLOOR})


@dataclass
class Stopwatch:
    """Wall-clock seconds *used*: the time between two laps of one process, whatever the calendar does meanwhile."""

    monotonic: Callable[[], float]
    last: float

    @classmethod
    def started(cls, monotonic: Callable[[], float]) -> "Stopwatch":
        """Begin now."""
        return cls(monotonic, monotonic())

    def lap(self) -> float:
        """Seconds since the last lap."""
        now = self.monotonic()
        spent, self.last = max(now - self.last, 0.0), now
        return round(spent, 6)


def text_of(blobs: BlobStore, blob: BlobId) -> str:
    """A blob as text; bytes that are no UTF-8 survive as surrogates."""
    return blobs.get(blob).decode("utf-8", "surrogateescape")


def could_not_run(key: str, reason: Reason, message: str) -> WorkerResult:
    """The answer of a worker that gave none."""
    return WorkerResult(key, "could_not_run", WorkerRefusal(reason, message, ""), (), (), False, {}, "", (), {}, {}, "")


def complete(task: Task, mode: JobMode, tries: int, result: WorkerResult) -> WorkerResult:
    """The answer, or a "could not run" in its place where it decides nothing.

    That is so if it says "measured" and left out cases that `mode` asks for. A busy machine makes honest brackets
    disagree, so the first such refusal decides nothing; no number of them does for the baseline, which is trusted.
    """
    if result.outcome == "measured" and isinstance(verdict := correct(task, mode, result.cases), NotDecided):
        return could_not_run(result.key, verdict.reason, verdict.message)
    disagrees = result.refusal is not None and result.refusal.code == Reason.TIMING_DISAGREES
    if disagrees and result.refusal is not None and (mode == "baseline" or tries == 1):
        return could_not_run(result.key, Reason.TIMING_DISAGREES, f"Too busy to measure? {result.refusal.message}")
    return result


def keep_result(
    blobs: BlobStore, attempt: int, mode: JobMode, blocks: int, result: WorkerResult, seconds: float
) -> JobDone:
    """Store the whole answer, and name it.

    A result that was there already when it was asked for (after a kill) took the worker the seconds that it says.
    """
    body = json.dumps(asdict(result), sort_keys=True, default=str, ensure_ascii=False, separators=(",", ":"))
    spent = {name: float(result.seconds.get(name, 0.0)) for name in ("compile", "correct", "measure")}
    return JobDone(
        attempt,
        mode,
        EffectKey(result.key),
        blocks,
        result.outcome,
        _reason(result.refusal.code) if result.refusal is not None and result.outcome == "could_not_run" else None,
        blobs.put(body.encode("utf-8", "surrogatepass")),
        max(seconds, round(result.seconds.get("total", 0.0), 6)),
        round(spent["compile"], 6),
        round(spent["correct"], 6),
        round(spent["measure"], 6),
    )


def facts_of(
    task: Task,
    campaign: Campaign,
    attempt: int,
    mode: JobMode,
    result: WorkerResult,
    test: promotion.Test | None,
    blobs: BlobStore,
) -> tuple[Event, ...]:
    """What a job's answer means for the attempt; empty if the worker could not run it."""
    if result.outcome == "could_not_run":
        return ()
    if result.outcome == "refused":
        return (_refused_by_worker(task, attempt, result, blobs),)
    verdict = correct(task, mode, result.cases)
    if isinstance(verdict, Refused):
        return (refusal(attempt, "correctness", verdict, blobs),)
    # an estimate is no time: it knows no loop counts, and a floor in seconds says nothing about it
    floor = PASSED if result.estimate else above_floor(task, result.samples)
    if isinstance(floor, Refused):
        return (refusal(attempt, "timing", floor, blobs),)
    try:
        ratio = ratio_of(result.samples, seed=campaign.needed.seed * 1_000_003 + attempt)
        decided = promotion.decide(result.samples, test) if test is not None else None
    except BadSamples as bad:
        told = Refused(Reason.NOT_FINITE, f"The measurement is no number: {bad}.", "Look at the task's metric.")
        return (refusal(attempt, "timing", told, blobs),)
    rival = campaign.promotions[-1] if mode == "promote" and campaign.promotions else BASELINE
    held_out = sum(fact.held_out for fact in result.cases)
    words = profile_of(task, result)
    profile = blobs.put(words) if words else None
    facts: list[Event] = [
        AttemptCorrect(attempt, mode, len(result.cases), held_out, worst_of(result.cases)),
        AttemptMeasured(
            attempt, mode, rival, ratio.point, ratio.low, ratio.high, ratio.blocks, result.estimate, profile
        ),
    ]
    if decided is not None and test is not None:
        reason = decided.verdict.reason if isinstance(decided.verdict, Refused) else None
        facts.append(
            PromotionDecided(
                attempt,
                test.number,
                rival,
                reason is None,
                reason,
                decided.ratio,
                decided.bound,
                test.blocks,
                test.alpha,
            )
        )
    return tuple(facts)


def baseline_facts(task: Task, result: WorkerResult, blobs: BlobStore) -> BaselineMeasured | CampaignEnded | None:
    """The noise of the baseline against itself, or the end of a task that cannot be trusted; None: try again."""
    if refuses_task(result) and result.refusal is not None:
        told = f"{result.refusal.message} {result.refusal.next}".strip()
        return CampaignEnded("task_refused", "", _reason(result.refusal.code), blobs.put(told))
    if result.outcome == "could_not_run":
        return None
    verdict = correct(task, "baseline", result.cases)
    if isinstance(verdict, Refused):
        told = f"The baseline fails the task's own cases: {verdict.message}"
        return CampaignEnded("task_refused", "", verdict.reason, blobs.put(told))
    try:
        noise = noise_of(result.samples)
    except BadSamples as bad:
        return CampaignEnded("task_refused", "", Reason.NOT_FINITE, blobs.put(f"The metric is no number: {bad}."))
    words = profile_of(task, result)
    profile = blobs.put(words) if words else None
    return BaselineMeasured(noise, len(result.samples), result.estimate, profile)


def refuses_task(result: WorkerResult) -> bool:
    """Whether a baseline job says that the task itself is at fault: the judge could not even begin, or refused it."""
    code = result.refusal.code if result.refusal is not None else ""
    return result.outcome == "refused" or code in (Reason.VACUOUS_TASK, Reason.BAD_TASK)


def machine_refusal(result: dict[str, Any]) -> str:
    """The words of a stored answer's refusal; "" if it has none."""
    refusal = result.get("refusal") or {}
    return f"{refusal.get('message', '')} {refusal.get('next', '')}".strip()


def _refused_by_worker(task: Task, attempt: int, result: WorkerResult, blobs: BlobStore) -> AttemptRefused:
    assert result.refusal is not None, "a refused result carries its refusal"
    reason = _reason(result.refusal.code)
    told = Refused(reason, _without_hidden(task, result.refusal.message), result.refusal.next)
    phase: Phase = "correctness"
    if reason in ADMISSION:
        phase = "admission"
    elif reason in TIMING:
        phase = "timing"
    elif reason is Reason.COMPILE_FAILED or not result.seconds.get("correct"):
        phase = "compile"
    return refusal(attempt, phase, told, blobs)


def _without_hidden(task: Task, words: str) -> str:
    """The words without the names of held-out cases, which agents must not learn: names tell sizes."""
    for case in task.cases:
        if case.held_out:
            words = words.replace(f"{case.name} ({case.regime})", "(held out)").replace(case.name, "(held out)")
    return words


def refusal(attempt: int, at: Phase, refused: Refused, blobs: BlobStore) -> AttemptRefused:
    """A gate's refusal as a fact, its words kept as a blob."""
    words = f"{refused.message}\n{refused.next}".strip()
    return AttemptRefused(attempt, at, refused.reason, blobs.put(words), None)


def _reason(code: str) -> Reason:
    """A worker newer than this headway may know codes that it does not: they count as trouble of the machine."""
    return Reason(code) if code in set(Reason) else Reason.INFRASTRUCTURE
