"""From an agent's answer to one source: a kernel task's one file, or a bundle of all editable files.

What an answer of many files does not mention stays as it was in what it builds on: the attempt it names, else the
incumbent. Values of knobs are filled into a template over the task's own tree, so that a trial is the same whenever it
is made.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headway.core.command_task import CommandTask
from headway.core.errors import HeadwayError
from headway.core.file_bundle import Changes, bundle, changes_in, checked_path, files_in
from headway.core.names import BlobId
from headway.core.ports.agent import Proposal
from headway.core.task import Task
from headway.tune.state import Campaign


@dataclass(frozen=True, slots=True)
class Candidate:
    """`outside` are the files it edits and must not; they are no part of `source`."""

    source: str
    outside: tuple[str, ...]


def candidate_of(
    task: Task, campaign: Campaign, answer: Proposal, parent: int | None, texts: Callable[[BlobId], str]
) -> Candidate | str:
    """The candidate, or why the answer holds none, in words."""
    named = answer.files.get(task.candidate_file)
    if task.command is None:
        outside = tuple(sorted(name for name in answer.files if name != task.candidate_file))
        found: Candidate | str = f"it has no {task.candidate_file}" if named is None else Candidate(named, outside)
    else:
        base = task.baseline if parent is None or answer.knobs else texts(campaign.attempt(parent).source)
        found = _of_many(task, task.command, answer, base)
    if isinstance(found, Candidate) and len(found.source.encode("utf-8", "surrogatepass")) > task.source_bytes:
        return f"it is over {task.source_bytes} bytes"
    return found


def _of_many(task: Task, spec: CommandTask, answer: Proposal, base: str) -> Candidate | str:
    """Files by their paths, and a bundle of them under the candidate's name."""
    try:
        changes: dict[str, str | None] = dict(changes_in(answer.files.get(task.candidate_file, "")))
        changes |= {checked_path(path): text for path, text in answer.files.items() if path != task.candidate_file}
        changes |= {checked_path(path): None for path in answer.deleted}
        source, outside = applied(spec, files_in(base), changes)
    except HeadwayError as wrong:
        return str(wrong)
    return Candidate(source, outside) if changes else "it changes no file"


def applied(spec: CommandTask, base: Mapping[str, str], changes: Changes) -> tuple[str, tuple[str, ...]]:
    """The bundle of `base` with the changes that may be made, and the paths of those that may not."""
    files = dict(base)
    outside = []
    for path, content in changes.items():
        if not spec.may_edit(path):
            outside.append(path)
        elif content is None:
            files.pop(path, None)
        else:
            files[path] = content
    return bundle(files), tuple(sorted(outside))
