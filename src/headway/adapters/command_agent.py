"""The `command` agent: any coding-agent CLI, one invocation a proposal, confined to a folder (`command_places.py`).

The CLI finds the request in `REQUEST.md` and on stdin; what it changed in the editable files, or in a clone in any
tracked file, is the proposal. Its words, its exit code and whatever else it wrote are evidence of nothing: they are
kept as the transcript.
"""

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from headway.adapters.command_places import HYPOTHESIS_FILE, REQUEST_FILE, FilesAlone, WholeClone
from headway.adapters.model_prompts import INSTRUCTIONS
from headway.core.ports.agent import NoProposal, Proposal, Request, Usage
from headway.core.ports.executor import Command, Executor, Limits, Outcome

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
            desk = Path(name).resolve()
            if request.place is None:
                return self._propose_in(FilesAlone(desk, request), desk, request)
            with request.place() as checkout:
                return self._propose_in(WholeClone(checkout, request), desk, request)

    def _propose_in(self, folder: FilesAlone | WholeClone, desk: Path, request: Request) -> Proposal | NoProposal:
        prompt = "\n\n".join((INSTRUCTIONS[request.purpose], folder.how(desk), folder.shown())) + "\n"
        (desk / REQUEST_FILE).write_text(prompt, errors="replace")
        outcome = self._executor.run(self._command(folder, desk, request, prompt))
        transcript = outcome.output.decode("utf-8", "replace")
        usage = _usage(prompt, outcome)
        fault = _fault(outcome, self._line.argv[0], request)
        if fault is not None:
            return replace(fault, usage=usage, transcript=transcript)
        changes = folder.changes(request.limits.output_bytes)
        if changes.complaint:
            return NoProposal("malformed", changes.complaint, usage, transcript)
        if not changes.files and not changes.deleted:
            what = "asked a question or did nothing" if outcome.exit == 0 else f"ended with exit code {outcome.exit}"
            return NoProposal("declined", f"The agent {what}: no editable file was changed.", usage, transcript)
        return Proposal(changes.files, _hypothesis(desk), "", usage, transcript, deleted=changes.deleted)

    def _command(self, folder: FilesAlone | WholeClone, desk: Path, request: Request, prompt: str) -> Command:
        return Command(
            argv=tuple(part.replace("{request}", str(desk / REQUEST_FILE)) for part in self._line.argv),
            cwd=folder.path,
            limits=Limits(request.limits.seconds, request.limits.output_bytes, self._line.memory_bytes),
            env={name: self._env[name] for name in self._line.env if name in self._env},
            stdin=prompt.encode("utf-8", "replace"),
            writable=tuple({desk, folder.path}),
            hidden=folder.hidden,
            readable_inside=folder.readable_inside,
            network=self._line.network,
        )


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


def _hypothesis(folder: Path) -> str:
    path = folder / HYPOTHESIS_FILE
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return " ".join(file.read(2000).decode("utf-8", "replace").split())[:500]


def _usage(prompt: str, outcome: Outcome) -> Usage:
    """Nobody tells what the CLI spent; counted offline by ceil(bytes / 3)."""
    return Usage(-(-len(prompt.encode()) // 3), -(-len(outcome.output) // 3))
