"""The `command` agent: any coding-agent CLI, one invocation a proposal, confined to a folder with the editable files.

The CLI finds the request in `REQUEST.md` and on stdin; what it changed in the editable files is the proposal. Its
words, its exit code and whatever else it wrote are evidence of nothing: they are kept as the transcript.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from headway.adapters.model_prompts import INSTRUCTIONS, opening
from headway.core.command_task import matches
from headway.core.ports.agent import NoProposal, Proposal, Request, Usage
from headway.core.ports.executor import Command, Executor, Limits, Outcome

REQUEST_FILE = "REQUEST.md"
HYPOTHESIS_FILE = "HYPOTHESIS.md"
"""A CLI may leave one sentence here; it becomes the strategy's hypothesis."""

COMMAND_NOT_FOUND = 127
SEEN = ("PATH", "LANG", "LC_ALL", "TERM")
"""Variables that every CLI may see."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """`argv` may hold `{request}`, replaced by the request file's path. `env` names variables the CLI may see (a key
    for its provider); `network` is on, since most such programs call one."""

    argv: tuple[str, ...]
    env: tuple[str, ...] = SEEN
    network: bool = True
    memory_bytes: int | None = None


class CommandAgent:
    """Runs the CLI through the executor, so time, output, memory and whole process tree are bounded."""

    name = "command"

    def __init__(self, line: CommandLine, executor: Executor, env: Mapping[str, str] | None = None) -> None:
        self._line = line
        self._executor = executor
        self._env = os.environ if env is None else env

    def propose(self, request: Request) -> Proposal | NoProposal:
        """See the port."""
        with tempfile.TemporaryDirectory(prefix="headway-agent-") as name:
            folder = Path(name).resolve()
            prompt = f"{INSTRUCTIONS[request.purpose]}\n\n{_HOW}\n\n{opening(request)}\n"
            _lay_out(folder, request, prompt)
            outcome = self._executor.run(self._command(folder, request, prompt))
            transcript = outcome.output.decode("utf-8", "replace")
            usage = _usage(prompt, outcome)
            fault = _fault(outcome, self._line.argv[0], request)
            if fault is not None:
                return replace(fault, usage=usage, transcript=transcript)
            changed, complaint = _changed(folder, request)
            added, deleted = _added_and_gone(folder, request)
            changed |= added
            if complaint or _size(changed) > request.limits.output_bytes:
                complaint = complaint or f"The proposal is over the {request.limits.output_bytes} bytes allowed."
                return NoProposal("malformed", complaint, usage, transcript)
            if not changed and not deleted:
                what = (
                    "asked a question or did nothing" if outcome.exit == 0 else f"ended with exit code {outcome.exit}"
                )
                return NoProposal("declined", f"The agent {what}: no editable file was changed.", usage, transcript)
            return Proposal(changed, _hypothesis(folder), "", usage, transcript, deleted=deleted)

    def _command(self, folder: Path, request: Request, prompt: str) -> Command:
        return Command(
            argv=tuple(part.replace("{request}", str(folder / REQUEST_FILE)) for part in self._line.argv),
            cwd=folder,
            limits=Limits(request.limits.seconds, request.limits.output_bytes, self._line.memory_bytes),
            env={name: self._env[name] for name in self._line.env if name in self._env},
            stdin=prompt.encode(),
            writable=(folder,),
            network=self._line.network,
        )


_HOW = (
    "You work in this folder. Change the files you were given in place; nothing else you write is taken. You may leave "
    f"your hypothesis as one sentence in {HYPOTHESIS_FILE}. Nobody can answer questions."
)


def _lay_out(folder: Path, request: Request, prompt: str) -> None:
    """The editable files as they are now, and beside them what a program may want to read and run."""
    if request.beside is not None:
        shutil.copytree(request.beside, folder, dirs_exist_ok=True)
        for there in _files_of(folder):
            if _may_edit(request, there):
                (folder / there).unlink()
    for name, content in request.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (folder / REQUEST_FILE).write_text(prompt)


def _fault(outcome: Outcome, program: str, request: Request) -> NoProposal | None:
    if outcome.not_started is not None or outcome.exit == COMMAND_NOT_FOUND:
        why = outcome.not_started or "command not found"
        return NoProposal("provider_error", f"The agent {program!r} could not be started: {why}.", permanent=True)
    if outcome.timed_out:
        limit = f"{request.limits.seconds:g} s"
        return NoProposal("timed_out", f"The agent did not end within {limit}; its whole process tree was ended.")
    if outcome.died is not None:
        return NoProposal("died", f"The agent was ended by {outcome.died}.")
    return None


def _changed(folder: Path, request: Request) -> tuple[dict[str, str], str]:
    """The editable files whose content is another now, or a complaint about one that cannot be taken."""
    changed: dict[str, str] = {}
    size = 0
    for name, before in request.files.items():
        path = folder / name
        if request.editable and not path.exists() and not path.is_symlink():
            continue  # taken away, which where many files are editable is a change like any other
        # a link would let the proposal hold whatever the link points to outside the folder
        if path.is_symlink() or not path.is_file() or not path.resolve().is_relative_to(folder):
            return {}, f"The agent removed {name} or put something else in its place."
        size += path.stat().st_size
        if size > request.limits.output_bytes:
            return {}, f"The proposal is larger than the {request.limits.output_bytes} bytes allowed."
        try:
            after = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            return {}, f"The agent left {name} in another encoding than UTF-8."
        if after != before:
            changed[name] = after
    return changed, ""


def _added_and_gone(folder: Path, request: Request) -> tuple[dict[str, str], tuple[str, ...]]:
    """Where a task lets files come and go: new ones of its patterns that are text, and those that are gone."""
    if not request.editable:
        return {}, ()
    added = {}
    for path in _files_of(folder):
        if path not in request.files and path not in (REQUEST_FILE, HYPOTHESIS_FILE) and _may_edit(request, path):
            with contextlib.suppress(UnicodeDecodeError):
                added[path] = (folder / path).read_bytes().decode("utf-8")
    gone = tuple(name for name in request.files if not (folder / name).exists() and not (folder / name).is_symlink())
    return added, gone


def _files_of(folder: Path) -> list[str]:
    """Plain files below a folder; links are followed nowhere."""
    return [
        (Path(place) / name).relative_to(folder).as_posix()
        for place, _, names in os.walk(folder)
        for name in names
        if not (Path(place) / name).is_symlink()
    ]


def _may_edit(request: Request, path: str) -> bool:
    return matches(path, request.editable) and not matches(path, request.frozen)


def _size(files: Mapping[str, str]) -> int:
    return sum(len(content.encode("utf-8", "replace")) for content in files.values())


def _hypothesis(folder: Path) -> str:
    path = folder / HYPOTHESIS_FILE
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return " ".join(file.read(2000).decode("utf-8", "replace").split())[:500]


def _usage(prompt: str, outcome: Outcome) -> Usage:
    """Nobody tells what the CLI spent; counted offline by ceil(bytes / 3)."""
    return Usage(-(-len(prompt.encode()) // 3), -(-len(outcome.output) // 3))
