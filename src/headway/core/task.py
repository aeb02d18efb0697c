"""A task as headway sees it: values only. `adapters/task_files.py` reads the folder; the judge reads it for itself.

It stands in core because agents (adapters) and the tune room share it.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headway.core.command_task import CommandTask
from headway.core.errors import HeadwayError
from headway.core.names import Digest

Kind = Literal["cpu-c", "cpu-python", "triton", "command"]

CANDIDATE_FILES: Mapping[Kind, str] = {
    "cpu-c": "candidate.c",
    "cpu-python": "candidate.py",
    "triton": "candidate.py",
    "command": "candidate",
}
"""The one editable file of each kind; a proposal that edits anything else is refused. A `command` task has many, and
this one name stands for a bundle of them (`core/file_bundle.py`)."""


@dataclass(frozen=True, slots=True)
class Case:
    """One point a candidate is checked on. `timed` ones are measured too; `protected` ones may not get slower."""

    name: str
    sizes: Mapping[str, int]
    seeds: tuple[int, ...]
    regime: str
    held_out: bool
    timed: bool
    protected: bool


@dataclass(frozen=True, slots=True)
class Knob:
    """One declared choice of the template. `structural` ones name the strategy, the others vary within it."""

    name: str
    values: tuple[int | str, ...]
    help: str
    structural: bool


@dataclass(frozen=True, slots=True)
class Floor:
    """What no machine can beat: work per call (expressions in the sizes) over a peak rate. Empty: not known."""

    flops: str
    bytes: str
    peak_gflops: float
    peak_gbytes: float

    def seconds(self, sizes: Mapping[str, int]) -> float:
        """The least seconds a call on these sizes can take; 0.0 where nothing is known."""
        bound = 0.0
        if self.flops and self.peak_gflops:
            bound = max(bound, evaluate_expression(self.flops, sizes) / (self.peak_gflops * 1e9))
        if self.bytes and self.peak_gbytes:
            bound = max(bound, evaluate_expression(self.bytes, sizes) / (self.peak_gbytes * 1e9))
        return bound


@dataclass(frozen=True, slots=True)
class TaskBudget:
    """What a campaign may use unless the command line says otherwise; None is no limit."""

    attempts: int | None
    seconds: float | None
    stall: int | None


@dataclass(frozen=True, slots=True)
class Task:
    """One task folder. `digest` is over every file in it, so that a changed task is noticed."""

    id: str
    kind: Kind
    folder: Path
    digest: Digest
    summary: str
    goal: str
    target_ratio: float | None
    metric: str
    direction: Literal["lower", "higher"]
    signature: str
    entry_text: str
    rules: tuple[str, ...]
    """What is allowed and banned, one sentence each, for the goal block."""
    tolerance: str
    cases: tuple[Case, ...]
    floor: Floor
    budget: TaskBudget
    source_bytes: int
    job_seconds: float
    baseline: str
    """The baseline's source."""
    template: str
    knobs: tuple[Knob, ...]
    hopeless: float = 0.8
    """A screening whose upper bound is below this share of the incumbent's speed is not followed up."""
    command: CommandTask | None = None
    """For kind `command`: what is measured and guarded. Its baseline is a bundle of all editable files."""

    @property
    def candidate_file(self) -> str:
        """Name of the editable file."""
        return CANDIDATE_FILES[self.kind]

    @property
    def timed_cases(self) -> tuple[Case, ...]:
        """The cases that are measured."""
        return tuple(case for case in self.cases if case.timed)

    def case(self, name: str) -> Case | None:
        """The case of that name."""
        return next((case for case in self.cases if case.name == name), None)


def fill(template: str, values: Mapping[str, int | str]) -> str:
    """The template with each `@KNOB@` replaced. Raises HeadwayError if a mark is left over."""
    for name, value in values.items():
        template = template.replace(f"@{name}@", str(value))
    return template


def check_values(task: Task, values: Mapping[str, int | str]) -> None:
    """Raises HeadwayError unless `values` gives every knob of the task one of its declared values."""
    for knob in task.knobs:
        if knob.name not in values:
            raise HeadwayError(
                f"The proposal gives no value for the knob {knob.name}.", "Give every declared knob one."
            )
        if values[knob.name] not in knob.values:
            shown = ", ".join(map(str, knob.values))
            raise HeadwayError(
                f"{values[knob.name]!r} is no value of the knob {knob.name}.", f"Choose one of: {shown}."
            )
    unknown = sorted(set(values) - {knob.name for knob in task.knobs})
    if unknown:
        raise HeadwayError(f"The task {task.id} has no knob {unknown[0]}.", "Remove it.")


def space_size(knobs: tuple[Knob, ...]) -> int:
    """How many combinations the declared knobs have."""
    return math.prod(len(knob.values) for knob in knobs)


_OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def evaluate_expression(text: str, sizes: Mapping[str, int]) -> float:
    """`2*m*n*k` with the sizes of a case. Raises HeadwayError for anything but + - * / **, numbers and size names."""

    def value(node: ast.expr) -> float:
        match node:
            case ast.Constant(value=int() | float() as number):
                return number
            case ast.Name(id=name) if name in sizes:
                return sizes[name]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](value(left), value(right))
        raise HeadwayError(f"The expression {text!r} in [floor] is not arithmetic in the sizes {', '.join(sizes)}.")

    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as wrong:
        raise HeadwayError(f"The expression {text!r} in [floor] does not parse.") from wrong
    return value(tree.body)
