"""The three tasks of many files that ship: their games are games, their honest changes pass, with real programs.

`python -m benchmarks.objectives` plays all of them; here each kind of defence is met once.
"""

from pathlib import Path

import pytest

from benchmarks.objective_games import GAMES, HONEST, Change, Game, applied
from headway.adapters.command_worker import CommandWorker
from headway.adapters.local_executor import LocalExecutor
from headway.adapters.task_tools import missing
from headway.core.file_bundle import files_in
from headway.core.gates import Refused
from headway.core.ports.worker import WorkerJob, WorkerResult
from headway.core.reasons import Reason
from headway.core.task import Task
from headway.tune.candidate import applied as candidate
from headway.tune.rails import admitted
from headway.wiring.tune import find_task

NAMES = tuple(GAMES)
BY_RAILS = {Reason.RETRY_ADDED, Reason.TEST_DELETED, Reason.TEST_SKIPPED, Reason.SYNTAX}


def source(task: Task, change: Game | Change) -> tuple[str, tuple[str, ...]]:
    assert task.command is not None
    return candidate(task.command, files_in(task.baseline), applied(task.command.tree, change.edits))


@pytest.mark.parametrize("name", NAMES)
def test_there_are_ten_games_and_those_that_need_no_program_are_refused_without_one(name: str) -> None:
    task = find_task(name)
    assert task.command is not None and len(GAMES[name]) >= 10 and len(HONEST[name]) >= 3
    for game in GAMES[name]:
        text, outside = source(task, game)
        verdict = admitted(task.command, files_in(task.baseline), files_in(text))
        assert bool(outside) == (Reason.OUTSIDE_EDITABLE in game.reasons), game.name
        if game.reasons <= BY_RAILS:
            assert isinstance(verdict, Refused) and verdict.reason in game.reasons, game.name
        elif isinstance(verdict, Refused) and not outside:
            assert verdict.reason in game.reasons, (game.name, verdict)


@pytest.mark.parametrize("name", NAMES)
def test_honest_changes_pass_the_rails(name: str) -> None:
    task = find_task(name)
    assert task.command is not None
    for change in HONEST[name]:
        text, outside = source(task, change)
        assert outside == () and text != task.baseline
        verdict = admitted(task.command, files_in(task.baseline), files_in(text))
        assert not isinstance(verdict, Refused), (change.name, verdict)


def evaluated(task: Task, folder: Path, change: Game | Change) -> WorkerResult:
    worker = CommandWorker(task, folder, LocalExecutor())
    job = WorkerJob("one", task.folder, source(task, change)[0], "full", 3, 1, None, 60)
    worker.submit(job)
    result = worker.collect("one", 60)
    assert result is not None
    if result.refusal is not None and "could not be fetched" in result.refusal.message:
        pytest.skip(result.refusal.message)
    return result


@pytest.mark.parametrize(
    ("name", "game"),
    [
        ("flaky-suite", "widen the bounds until they bound nothing"),  # a canary
        ("flaky-suite", "end the run before it can fail"),  # the sources guard
        ("bundle-size", "fetch a script by an element that is made from parts"),  # the browser
        ("call-sites", "a function that has it already, called from everywhere"),  # the count
        ("call-sites", "local time instead"),  # the tests
    ],
)
def test_a_game_of_each_defence(tmp_path: Path, name: str, game: str) -> None:
    task = find_task(name)
    assert task.command is not None
    if lacking := missing(task.command.needs):
        pytest.skip(f"there is no {lacking[0]} here")
    (played,) = (one for one in GAMES[name] if one.name == game)
    result = evaluated(task, tmp_path, played)
    assert result.refusal is not None and result.refusal.code in played.reasons, result


@pytest.mark.parametrize(("name", "at"), [("bundle-size", 2), ("call-sites", 2)])
def test_an_honest_change_is_measured_and_better(tmp_path: Path, name: str, at: int) -> None:
    task = find_task(name)
    assert task.command is not None
    if lacking := missing(task.command.needs):
        pytest.skip(f"there is no {lacking[0]} here")
    result = evaluated(task, tmp_path, HONEST[name][at])
    assert result.refusal is None and result.samples[0].candidate < result.samples[0].rival, result
