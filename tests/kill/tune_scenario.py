"""A campaign of five attempts: one promoted, one refused for its result, one a duplicate that waited for its turn;
scripted agent and worker."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.tune_world import answer, world_task
from headway.adapters.clocks import HandClock
from headway.adapters.failpoints import Failpoints
from headway.adapters.script_agent import ScriptAgent, Scripted
from headway.adapters.scripted_worker import ScriptedWorker
from headway.core.events_tune import BudgetSet
from headway.core.ports.agent import Proposal
from headway.core.ports.worker import WorkerJob, WorkerResult
from headway.tune.campaign import Loop, Start, home_of, open_campaign, read
from headway.tune.scoreboard import scoreboard
from headway.wiring.state import open_state
from tests.kill.crash import Scenario
from tests.kill.records import progress, records
from tests.tune.campaigns import proposal

ID = "killed"
NOW = datetime(2026, 4, 1, 12, 0, tzinfo=UTC)
WAITING = Proposal({"candidate.py": "speed 1.4\n"}, "another of the same call")
PROPOSALS = (
    proposal("speed 0.5\n"),
    proposal("speed 1.4\n"),
    Scripted(Proposal({"candidate.py": "refuse wrong_result\nspeed 9\n"}, "a wrong one", others=(WAITING,))),
    proposal("speed 1.1\n"),
)


def prepare(place: Path) -> None:
    place.mkdir(parents=True)


def run(place: Path) -> None:
    """`tune run`, or `tune resume` where it was begun."""
    clock = HandClock(NOW)
    with open_state(place / "state", clock=clock, env=os.environ) as state, state.lock():
        failpoints = Failpoints.from_environment(dict(os.environ))

        def evaluate(job: WorkerJob) -> WorkerResult:
            failpoints.hit("evaluation.before")
            result = answer(job)
            failpoints.hit("evaluation.after")
            return result

        task = world_task(Path("world"))
        if not state.log.heads(home_of(ID)):
            budget = BudgetSet(None, None, None, None, None, None)
            open_campaign(state.log, state.blobs, ID, task, Start("script", 1, 32_000, 0.05, 0.02, budget, ID))
        worker = ScriptedWorker(evaluate, place / "worker")
        Loop(ID, task, state.log, state.blobs, ScriptAgent(task, PROPOSALS), worker, clock).run()


def picture(place: Path) -> dict[str, Any]:
    """Incumbent, ledger, counters and the log itself."""
    with open_state(place / "state", clock=HandClock(NOW), env={}, read_only=True) as state:
        board = scoreboard(ID, read(state.log, ID))
    return {"board": board, "log": records(place / "state"), "counted": counted(place)}


def counted(place: Path) -> list[str]:
    """Keys of the evaluations that the log counts, each as often as it does."""
    return [payload["key"] for _, kind, payload in records(place / "state") if kind.startswith("tune.job.")]


TUNE = Scenario("tune", prepare, run, picture, lambda place: progress(place / "state"))
