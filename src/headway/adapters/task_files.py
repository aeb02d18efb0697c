"""Reads a task folder into a `Task`: one validation, at the edge. Runs nothing of it; the judge does that."""

import hashlib
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from headway.adapters.command_task_files import CommandTaskFile, command_task
from headway.adapters.task_tables import BudgetTable, GoalTable, Name, SearchTable, Table, TaskId, first_fault
from headway.core.errors import HeadwayError
from headway.core.names import Digest
from headway.core.task import Case, Floor, Knob, Task, TaskBudget, evaluate_expression

SCHEMA = "headway.task/1"
IGNORED = frozenset({"__pycache__", "__init__.py"})


class _Argument(Table):
    name: Name
    type: str
    role: Literal["size", "in", "out"]
    shape: tuple[str | int, ...] = ()
    split: int = Field(default=0, ge=0)


class _Entry(Table):
    name: str = "entry"
    signature: str
    text: str = ""
    args: tuple[_Argument, ...] = ()


class _Files(Table):
    inputs: str | None = None
    reference: str = "reference.py"
    baseline: str


class _Build(Table):
    compiler: str = "cc"
    flags: tuple[str, ...] = ()


class _Tolerance(Table):
    k: float = Field(gt=0)
    least: float = Field(ge=0)
    row_k: float | None = Field(default=None, gt=0)


class _Similar(Table):
    index: str = Field(min_length=1)
    most: float = Field(default=0.6, gt=0, le=1)


class _Admission(Table):
    imports: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    banned_imports: tuple[str, ...] = ()
    banned_calls: tuple[str, ...] = ()
    torch: tuple[str, ...] | None = None
    similar: _Similar | None = None


class _Limits(Table):
    compile_seconds: float = Field(default=60, gt=0)
    run_seconds: float = Field(default=60, gt=0)
    memory_mb: int = Field(default=1024, gt=0)
    output_bytes: int = Field(default=65536, gt=0)
    source_bytes: int = Field(default=262144, gt=0)


class _Floor(Table):
    flops: str = ""
    bytes: str = ""
    peak_gflops: float = Field(default=0, ge=0)
    peak_gbytes: float = Field(default=0, ge=0)


class _Case(Table):
    name: Name
    sizes: dict[str, int]
    small: dict[str, int] | None = None
    seeds: tuple[int, ...] = Field(min_length=1)
    regime: str = "normal"
    held_out: bool = False
    timed: bool = False
    protected: bool = False
    screen: bool = False


class _Target(Table):
    arch: int = Field(default=90, ge=70)


class _Screening(Table):
    hopeless: float = Field(default=0.8, gt=0, le=1.1)


class TaskFile(Table):
    """`task.toml`; `docs/task-format.md` explains every key."""

    schema_: Literal["headway.task/1"] = Field(alias="schema")
    id: TaskId
    kind: Literal["cpu-c", "cpu-python", "triton", "command"]
    summary: str = ""
    goal: GoalTable
    entry: _Entry
    files: _Files
    build: _Build = _Build()
    target: _Target = _Target()
    tolerance: _Tolerance
    admission: _Admission = _Admission()
    limits: _Limits = _Limits()
    budget: BudgetTable = BudgetTable()
    floor: _Floor = _Floor()
    cases: tuple[_Case, ...] = Field(min_length=1)
    search: SearchTable | None = None
    screening: _Screening = _Screening()


def load_task(folder: Path) -> Task:
    """The task of a folder. Raises HeadwayError, one sentence, for anything missing or wrong in it."""
    path = folder / "task.toml"
    if not path.is_file():
        raise HeadwayError(
            f"{folder} is no task: it has no task.toml.", "See docs/task-format.md, or `headway tune new`."
        )
    try:
        raw: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
        if raw.get("kind") == "command":
            return command_task(folder, CommandTaskFile.model_validate(raw), task_digest(folder))
        spec = TaskFile.model_validate(raw)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise HeadwayError(f"{path} is not TOML: {wrong}.") from wrong
    except ValidationError as wrong:
        raise HeadwayError(f"{path}: {first_fault(wrong)}.", "See docs/task-format.md.") from wrong
    _check(path, spec)
    return _task(folder, spec)


def task_digest(folder: Path) -> Digest:
    """sha256 over the names and contents of every file of a task folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if path.is_file() and not IGNORED.intersection(relative.parts):
            digest.update(f"{relative.as_posix()}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return Digest(digest.hexdigest())


def _task(folder: Path, spec: TaskFile) -> Task:
    limits = spec.limits
    return Task(
        id=spec.id,
        kind=spec.kind,
        folder=folder.resolve(),
        digest=task_digest(folder),
        summary=spec.summary,
        goal=spec.goal.text,
        target_ratio=spec.goal.target_ratio,
        metric=spec.goal.metric,
        direction=spec.goal.direction,
        signature=spec.entry.signature,
        entry_text=spec.entry.text,
        rules=_rules(spec),
        tolerance=(
            f"|out - oracle| / |oracle| in float64, at most {spec.tolerance.k:g} times the baseline's own error "
            f"(or {spec.tolerance.least:g}, if that is more)."
        ),
        cases=tuple(
            Case(c.name, c.sizes, c.seeds, c.regime, c.held_out, c.timed or c.protected, c.protected)
            for c in spec.cases
        ),
        floor=Floor(spec.floor.flops, spec.floor.bytes, spec.floor.peak_gflops, spec.floor.peak_gbytes),
        budget=TaskBudget(spec.budget.attempts, spec.budget.seconds, spec.budget.stall),
        source_bytes=limits.source_bytes,
        hopeless=spec.screening.hopeless,
        job_seconds=limits.compile_seconds + limits.run_seconds,
        baseline=_text(folder / spec.files.baseline),
        template=_text(folder / spec.search.template) if spec.search else "",
        knobs=tuple(Knob(k.name, k.values, k.help, k.structural) for k in spec.search.knobs) if spec.search else (),
    )


def _rules(spec: TaskFile) -> tuple[str, ...]:
    admission, rules = spec.admission, []
    if admission.imports:
        rules.append(f"only these packages may be imported: {', '.join(admission.imports)}.")
    if admission.headers:
        rules.append(f"only these headers may be included: {', '.join(admission.headers)}.")
    if admission.banned_imports:
        rules.append(f"banned packages: {', '.join(admission.banned_imports)}.")
    if admission.banned_calls:
        rules.append(f"banned calls: {', '.join(admission.banned_calls)}.")
    if admission.similar:
        rules.append(f"code like that of {Path(admission.similar.index).stem} is banned, whatever its names.")
    if spec.kind == "cpu-c":
        rules.append(f"built with {spec.build.compiler} {' '.join(spec.build.flags)}, as the baseline is.")
    rules.append("no files, processes, threads or network; nothing is kept from one call to the next.")
    return tuple(rules)


def _check(path: Path, spec: TaskFile) -> None:
    names = [case.name for case in spec.cases]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise HeadwayError(f"{path}: two cases are called {twice}.", "Give each a name of its own.")
    if not any(case.timed or case.protected for case in spec.cases if not case.held_out):
        raise HeadwayError(f"{path}: no public case is timed.", "Set `timed = true` on at least one.")
    for case in spec.cases:
        for expression in filter(None, (spec.floor.flops, spec.floor.bytes)):
            evaluate_expression(expression, case.sizes)
    if spec.admission.similar and spec.kind == "cpu-c":
        raise HeadwayError(f"{path}: admission.similar compares Python, and this task is C.", "Leave it out.")
    named = [spec.files.inputs] if spec.files.inputs else []
    named += [spec.admission.similar.index] if spec.admission.similar else []
    for file in (spec.files.reference, spec.files.baseline, *named, *([spec.search.template] if spec.search else [])):
        if not (path.parent / file).is_file():
            raise HeadwayError(f"{path} names {file}, which is not in the folder.", "Add it.")
        if (path.parent / file).resolve().parent != path.parent.resolve():
            raise HeadwayError(f"{path} names {file}, which lies outside the task's folder.", "Move it in.")


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as wrong:
        raise HeadwayError(f"{path} is not UTF-8.") from wrong
