"""Which worker evaluates the candidates of a task on this machine."""

from pathlib import Path

from headway.adapters.command_worker import CommandWorker
from headway.adapters.failpoints import OFF, Failpoints
from headway.adapters.local_executor import LocalExecutor
from headway.adapters.local_worker import LocalWorker
from headway.core.ports.worker import Worker
from headway.core.task import Task


def worker_for(task: Task, folder: Path, failpoints: Failpoints = OFF, at_once: int = 1) -> Worker:
    """Judge and runner for a kernel, the executor for the commands of a `command` task."""
    if task.command is not None:
        return CommandWorker(task, folder, LocalExecutor(), failpoints)
    return LocalWorker(folder, failpoints=failpoints, at_once=at_once)
