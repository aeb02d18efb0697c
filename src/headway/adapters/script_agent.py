"""The agent that replays a file: one JSON object a line, taken by the number of its turn, so a resumed run goes on.

A line is a proposal (`{"file": "candidate.c"}` relative to the script, `{"source": "..."}` or `{"knobs": {...}}` for
the task's template, each with an optional `hypothesis` and `parent`) or a failure (`{"none": "provider_error",
"message": "..."}`); `"recall": ["S1-S50"]` asks the desk first. So every road through a campaign can be scripted.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from headway.core.errors import HeadwayError
from headway.core.ports.agent import NoProposal, Proposal, Request, Usage
from headway.core.task import Task, check_values, fill


class Line(BaseModel):
    """One line of a script. Exactly one of `file`, `source`, `knobs`, `files` and `none` is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str | None = None
    source: str | None = None
    knobs: dict[str, int | str] | None = None
    files: dict[str, str] | None = None
    none: (
        Literal["exhausted", "declined", "provider_error", "timed_out", "malformed", "died", "context_overflow"] | None
    ) = None
    recall: tuple[str, ...] = ()
    message: str = ""
    hypothesis: str = ""
    parent: str = ""
    tokens: int = Field(default=0, ge=0)
    money: float = Field(default=0.0, ge=0)


@dataclass(frozen=True, slots=True)
class Scripted:
    """What to ask the desk, and what to answer then."""

    answer: Proposal | NoProposal
    recall: tuple[str, ...] = ()


class ScriptAgent:
    """Answers its turn n with line n; exhausted after the last."""

    name = "script"

    def __init__(self, task: Task, answers: tuple[Scripted, ...]) -> None:
        self._task = task
        self._answers = answers

    @classmethod
    def from_file(cls, task: Task, path: Path) -> "ScriptAgent":
        """Raises HeadwayError naming the line that is wrong."""
        try:
            lines = path.read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as wrong:
            raise HeadwayError(f"The script {path} cannot be read: {wrong}.") from wrong
        numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        return cls(task, tuple(_answer(task, path, number, line) for number, line in numbered))

    def propose(self, request: Request) -> Proposal | NoProposal:
        """The line of this call."""
        call = int(request.facts.get("turn", request.facts["call"]))
        if call > len(self._answers):
            return NoProposal("exhausted", "The script has no further line.")
        scripted = self._answers[call - 1]
        heard = [request.desk.ask("recall", name) for name in scripted.recall] if request.desk else []
        return replace(scripted.answer, transcript="\n\n".join(heard))

    def ahead(self, request: Request, count: int) -> tuple[Proposal, ...]:
        """The next lines, up to the first that asks the desk or is no proposal."""
        first = int(request.facts.get("turn", request.facts["call"])) - 1
        found: list[Proposal] = []
        for scripted in self._answers[first : first + count]:
            if scripted.recall or not isinstance(scripted.answer, Proposal):
                break
            found.append(scripted.answer)
        return tuple(found)


def _answer(task: Task, path: Path, number: int, text: str) -> Scripted:
    try:
        line = Line.model_validate(json.loads(text))
    except (json.JSONDecodeError, ValidationError) as wrong:
        fault = wrong.errors()[0]["msg"] if isinstance(wrong, ValidationError) else str(wrong)
        raise HeadwayError(f"{path}:{number} is no proposal: {fault}.") from wrong
    given = [name for name in ("file", "source", "knobs", "files", "none") if getattr(line, name) is not None]
    if len(given) != 1:
        told = ", ".join(given) or "none of them"
        raise HeadwayError(f"{path}:{number} must give one of file, source, knobs, files, none; it gives {told}.")
    usage = Usage(output_tokens=line.tokens, money=line.money)
    if line.none is not None:
        return Scripted(NoProposal(line.none, line.message, usage), line.recall)
    files = line.files or {task.candidate_file: _source(task, path, number, line)}
    proposal = Proposal(files, line.hypothesis, line.parent, usage, knobs=line.knobs or {})
    return Scripted(proposal, line.recall)


def _source(task: Task, path: Path, number: int, line: Line) -> str:
    if line.source is not None:
        return line.source
    if line.knobs is not None:
        check_values(task, line.knobs)
        return fill(task.template, line.knobs)
    assert line.file is not None
    try:
        return (path.parent / line.file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise HeadwayError(
            f"{path}:{number} names {line.file}, which cannot be read.", "Paths are relative to the script."
        ) from wrong
