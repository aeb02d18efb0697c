"""Objectives that are not kernels: does a campaign improve something real, and do the gates refuse what only looks so?

    python -m benchmarks.objectives [--json] [--only flaky-suite]

For each of the three tasks of many files that ship: a campaign without a model (`search` or `script`) of at most five
minutes, whose incumbent's metric is `after`; then every game of `benchmarks/objective_games` and every honest change,
each through all gates. A game counts as refused only if the reason is the one that the game is; an honest change as
accepted only if its metric was measured and is not certainly worse. Exit code 4 where a task's tools are not on this
machine.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.objective_games import GAMES, HONEST, Game, applied
from headway.adapters.clocks import SystemClock
from headway.adapters.memory_blobs import MemoryBlobs
from headway.adapters.memory_log import MemoryLog
from headway.adapters.script_agent import ScriptAgent, Scripted
from headway.adapters.search_agent import SearchAgent
from headway.adapters.task_tools import hint, missing
from headway.core.events_tune import BudgetSet, JobDone
from headway.core.ports.agent import Agent, Proposal
from headway.core.ports.log import decoded
from headway.core.task import Task
from headway.tune import campaign as campaigns
from headway.tune.evidence import text_of
from headway.tune.ledger import outcome_text
from headway.tune.state import Attempt, Campaign, Ranked, Refusal
from headway.wiring.tune import find_task
from headway.wiring.workers import worker_for

SECONDS = 300.0


@dataclass(frozen=True)
class Ended:
    """A campaign at its end, with the metric of its incumbent and of the baseline beside it; None where none is."""

    state: Campaign
    before: float | None
    after: float | None


def improve(task: Task) -> Ended:
    """`search` where the task declares knobs, else the last honest change by `script`; at most five minutes."""
    agent: Agent = SearchAgent(task)
    if not task.knobs:
        agent = ScriptAgent(task, (said(task, *HONEST[task.id][-1:]),))
    return drive(task, agent, BudgetSet(task.budget.attempts, None, SECONDS, None, None, task.budget.stall), "campaign")


def play(task: Task) -> list[Attempt]:
    """Every game, then every honest change, through all gates; nothing is promoted, so each is judged for itself."""
    changes = (*GAMES[task.id], *HONEST[task.id])
    answers = tuple(said(task, one) for one in changes)
    budget = BudgetSet(len(answers), None, None, None, None, None)
    return list(drive(task, ScriptAgent(task, answers), budget, "evaluate").state.attempts)


def said(task: Task, change: Any) -> Scripted:
    """A change as what an agent says."""
    assert task.command is not None
    files = applied(task.command.tree, change.edits)
    kept = {path: text for path, text in files.items() if text is not None}
    return Scripted(Proposal(kept, change.name, deleted=tuple(path for path, text in files.items() if text is None)))


def drive(task: Task, agent: Agent, budget: BudgetSet, purpose: Any) -> Ended:
    """Run a campaign in memory, with the real worker."""
    clock = SystemClock()
    log, blobs = MemoryLog(clock), MemoryBlobs()
    start = campaigns.Start(agent.name, 1, 32_000, 0.03, 0.02, budget, ".", purpose)
    campaigns.open_campaign(log, blobs, task.id, task, start)
    with tempfile.TemporaryDirectory(prefix="headway-objectives-") as folder:
        loop = campaigns.Loop(task.id, task, log, blobs, agent, worker_for(task, Path(folder)), clock)
        state = loop.run(Watch(task.id).look)
    before, after = None, None
    for event in decoded(log.read(campaigns.home_of(task.id))):
        best = state.incumbent
        if isinstance(event, JobDone) and event.outcome == "measured":
            compiled = json.loads(text_of(blobs, event.result))["compile"]
            if event.mode == "baseline":
                before = compiled["metric"]
            elif best is not None and event.attempt == best.id and event.mode == "promote":
                after = compiled["metric"]
    return Ended(state, before, after)


class Watch:
    """Says on stderr what became of each attempt."""

    def __init__(self, name: str) -> None:
        self._name, self._seen, self._begun = name, 0, time.monotonic()

    def look(self, state: Campaign) -> None:
        for attempt in state.attempts[self._seen :]:
            took = time.monotonic() - self._begun
            print(f"{self._name} {took:5.0f} s  A{attempt.id} {outcome_text(attempt)}", file=sys.stderr, flush=True)
        self._seen = len(state.attempts)


def is_refused(game: Game, attempt: Attempt) -> bool:
    """Refused, and for what it is."""
    return isinstance(attempt.outcome, Refusal) and attempt.outcome.reason in game.reasons


def is_accepted(attempt: Attempt) -> bool:
    """Right, measured, and not certainly worse: one of several causes mended may be within the noise of a look."""
    return isinstance(attempt.outcome, Ranked) and attempt.outcome.speed.high > 1


def row(task: Task) -> dict[str, float | int | None]:
    """One row, with the keys that stand in the docs."""
    ended = improve(task)
    attempts = play(task)
    games, honest = attempts[: len(GAMES[task.id])], attempts[len(GAMES[task.id]) :]
    for game, attempt in zip(GAMES[task.id], games, strict=True):
        if not is_refused(game, attempt):
            print(f"{task.id}: the game {game.name!r} came through: {outcome_text(attempt)}", file=sys.stderr)
    return {
        "before": ended.before,
        "after": ended.after,
        "games": len(games),
        "games_refused": sum(map(is_refused, GAMES[task.id], games)),
        "honest": len(honest),
        "honest_accepted": sum(map(is_accepted, honest)),
    }


def rows(names: Iterable[str]) -> dict[str, dict[str, float | int | None]]:
    """A row a task; a task whose tools are absent has none, and says so on stderr."""
    found = {}
    for name in names:
        task = find_task(name)
        assert task.command is not None
        lacking = missing(task.command.needs)
        if lacking:
            print(f"{name}: could not run, there is no {lacking[0]} here ({hint(lacking[0])})", file=sys.stderr)
            continue
        found[name] = row(task)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=sorted(GAMES), action="append")
    options = parser.parse_args(arguments)
    names = options.only or list(GAMES)
    found = rows(names)
    if options.json:
        print(json.dumps(found))
    else:
        for name, one in found.items():
            print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in one.items()))
    return 0 if len(found) == len(names) else 4


if __name__ == "__main__":
    sys.exit(main())
