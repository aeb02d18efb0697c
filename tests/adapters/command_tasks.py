"""A small `command` task for tests: an editable number, a guard on it, and programs that take milliseconds."""

import textwrap
from collections.abc import Mapping
from pathlib import Path

from headway.adapters.command_worker import CommandWorker
from headway.adapters.local_executor import LocalExecutor
from headway.adapters.task_files import load_task
from headway.core.file_bundle import bundle, files_in
from headway.core.ports.worker import Mode, WorkerJob, WorkerResult
from headway.core.task import Task

METRIC = 'command = ["cat", "size.txt"]\ndeterministic = true'
GUARDS = """
[[guards]]
name = "words"
command = ["grep", "-q", "keep", "words.txt"]
screen = true
"""


def command_task(
    folder: Path,
    *,
    metric: str = METRIC,
    guards: str = GUARDS,
    more: str = "",
    direction: str = "lower",
    files: Mapping[str, str] | None = None,
) -> Task:
    """The task's folder is written and loaded."""
    tree = {"size.txt": "8\n", "words.txt": "keep this\n", "frozen.txt": "ice\n", **(files or {})}
    for name, text in tree.items():
        (folder / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "tree" / name).write_text(text)
    head = f"""
        schema = "headway.task/1"
        id = "sizes"
        kind = "command"
        [goal]
        text = "Make the number small and keep the words."
        metric = "the number"
        direction = "{direction}"
        [files]
        editable = ["size.txt", "words.txt", "*.sh"]
        frozen = ["frozen.sh"]
        [metric]
    """
    (folder / "task.toml").write_text(textwrap.dedent(head) + metric + "\n" + guards + more)
    return load_task(folder)


def evaluated(task: Task, folder: Path, mode: Mode = "full", **changes: str) -> WorkerResult:
    """One job of a candidate that changes these files (`size_txt` for `size.txt`)."""
    files = files_in(task.baseline) | {name.replace("_", "."): text for name, text in changes.items()}
    worker = CommandWorker(task, folder, LocalExecutor())
    job = WorkerJob(f"j{len(list(folder.rglob('*.json')))}", task.folder, bundle(files), mode, 7, 2, None, 60)
    worker.submit(job)
    result = worker.collect(job.key, 60)
    assert result is not None
    return result


def code_of(result: WorkerResult) -> str:
    """`measured`, or the reason."""
    return result.refusal.code if result.refusal is not None else result.outcome
