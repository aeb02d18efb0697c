"""`headway tune evaluate`: one candidate through a campaign of one attempt, compared with nobody."""

import itertools
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from headway.adapters.clocks import SystemClock
from headway.adapters.script_agent import ScriptAgent, Scripted
from headway.adapters.state_place import named_state
from headway.core.errors import HeadwayError
from headway.core.events_tune import BudgetSet, CampaignEnded, JobDone
from headway.core.file_bundle import bundle
from headway.core.ports.agent import Proposal
from headway.core.ports.log import decoded
from headway.core.ports.worker import WorkerResult
from headway.core.task import Task
from headway.tune import campaign as campaigns
from headway.tune.context import DEFAULT_BUDGET
from headway.tune.evidence import text_of
from headway.tune.measure.digest import floors_of, profile_of
from headway.tune.state import Attempt, Campaign, Refusal
from headway.wiring.state import State, open_state
from headway.wiring.tune import campaigns_in, find_task
from headway.wiring.workers import worker_for


@dataclass(frozen=True)
class Evaluation:
    """What `tune evaluate` found out. `state` is the state folder that holds the record."""

    task: str
    attempt: Attempt | None
    end: CampaignEnded | None
    refusal: str
    """The words of the refusal: what exactly, and on a second line what to do next."""
    result: dict[str, Any]
    """The worker's whole answer; empty if there was none."""
    state: Path
    seconds: float
    profile: str = ""
    """Where the time goes, as agents are told."""
    floors: tuple[dict[str, Any], ...] = ()
    """Roof and launch floor beside each timed case; empty without a GPU."""


def evaluate(task_name: str, file: Path, state: Path | None) -> Evaluation:
    """One candidate through the campaign's own gates: checked on every case, measured, compared with nobody."""
    task = find_task(task_name)
    source = candidate_text(task, file)
    if len(source.encode()) > task.source_bytes:
        raise HeadwayError(f"The candidate {file} is over the task's limit of {task.source_bytes} bytes.")
    root = named_state(state, os.environ) or Path(tempfile.mkdtemp(prefix="headway-evaluate-"))
    budget = BudgetSet(1, None, None, None, None, None)
    taken = campaigns_in(root)
    campaign_id = next(i for n in itertools.count(1) if (i := f"evaluate-{task.id}-{n}") not in taken)
    start = campaigns.Start(
        "script",
        1,
        DEFAULT_BUDGET,
        campaigns.DEFAULT_ALPHA,
        campaigns.DEFAULT_MIN_GAIN,
        budget,
        str(root),
        "evaluate",
    )
    answer = Scripted(Proposal({task.candidate_file: source}, f"Evaluate {file.name}."))
    with open_state(root) as opened, opened.lock():
        campaigns.open_campaign(opened.log, opened.blobs, campaign_id, task, start)
        worker = worker_for(task, root / "worker")
        try:
            agent = ScriptAgent(task, (answer,))
            loop = campaigns.Loop(campaign_id, task, opened.log, opened.blobs, agent, worker, SystemClock())
            ended = loop.run()
        finally:
            worker.close()
        return _evaluation(opened, task, campaign_id, ended)


def candidate_text(task: Task, file: Path) -> str:
    """The candidate in a file; of a task of many files it may be a folder that holds those it changes, and no others.

    Raises HeadwayError for what cannot be read.
    """
    try:
        if task.command is not None and file.is_dir():
            paths = sorted(path for path in file.rglob("*") if path.is_file())
            return bundle({path.relative_to(file).as_posix(): path.read_text("utf-8") for path in paths})
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as wrong:
        raise HeadwayError(f"The candidate {file} cannot be read: {wrong}.") from wrong


def _evaluation(opened: State, task: Task, campaign_id: str, ended: Campaign) -> Evaluation:
    attempt = ended.attempts[0] if ended.attempts else None
    refusal, result, profile = "", {}, ""
    floors: tuple[dict[str, Any], ...] = ()
    if attempt is not None and isinstance(attempt.outcome, Refusal) and attempt.outcome.evidence is not None:
        refusal = text_of(opened.blobs, attempt.outcome.evidence)
    for event in decoded(opened.log.read(campaigns.home_of(campaign_id))):
        if isinstance(event, JobDone):
            result = json.loads(text_of(opened.blobs, event.result))
            whole = TypeAdapter(WorkerResult).validate_python(result)
            profile, floors = profile_of(task, whole), tuple(floors_of(task, whole))
    return Evaluation(task.id, attempt, ended.ended, refusal, result, opened.root, ended.spent.seconds, profile, floors)
