"""Reads a `command` task: the tables of `task.toml` that say what is measured and guarded, and the tree beside them."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from headway.adapters.task_tables import BudgetTable, GoalTable, Name, SearchTable, Table, TaskId
from headway.core.command_task import Canary, CommandTask, Guard, Metric, Protected, Setup, Step, matches
from headway.core.errors import HeadwayError
from headway.core.file_bundle import bundle
from headway.core.names import Digest
from headway.core.task import Case, Floor, Knob, Task, TaskBudget

MOST_TREE_BYTES = 64 << 20
"""The tree is copied for every run."""
MOST_RUNS = 40
"""Programs of one job, for the limit on the whole of it."""

Argv = Annotated[tuple[str, ...], Field(min_length=1)]
Pattern = Annotated[str, StringConstraints(min_length=1, pattern=r"^[^/]")]


class _Files(Table):
    tree: str = "tree"
    editable: tuple[Pattern, ...] = Field(min_length=1)
    frozen: tuple[Pattern, ...] = ()
    tests: tuple[Pattern, ...] = ()


class _Step(Table):
    command: Argv
    run: tuple[str, ...] = ()
    seconds: float = Field(default=60, gt=0)


class _Metric(_Step):
    repetitions: int = Field(default=1, ge=1, le=1000)
    deterministic: bool = False
    add: float = Field(default=0, ge=0)
    floor: float | None = None


class _Guard(_Step):
    name: Name
    held_out: bool = False
    screen: bool = False


class _Protected(_Step):
    name: Name
    direction: Literal["lower", "higher"] = "lower"
    may_lose: float = Field(default=0, ge=0)


class _Canary(Table):
    name: Name
    guard: Name
    path: str
    old: Annotated[str, StringConstraints(min_length=1)]
    new: str


class _Setup(Table):
    command: Argv
    inputs: tuple[str, ...] = ()
    seconds: float = Field(default=300, gt=0)


class _Limits(Table):
    source_bytes: int = Field(default=1 << 20, gt=0)


class CommandTaskFile(Table):
    """`task.toml` of kind `command`; `docs/task-format.md` explains every key."""

    schema_: Literal["headway.task/1"] = Field(alias="schema")
    id: TaskId
    kind: Literal["command"]
    summary: str = ""
    goal: GoalTable
    files: _Files
    needs: tuple[str, ...] = ()
    setup: _Setup | None = None
    metric: _Metric
    guards: tuple[_Guard, ...] = ()
    protected: tuple[_Protected, ...] = ()
    canaries: tuple[_Canary, ...] = ()
    limits: _Limits = _Limits()
    budget: BudgetTable = BudgetTable()
    search: SearchTable | None = None


def command_task(folder: Path, spec: CommandTaskFile, digest: Digest) -> Task:
    """The task. Raises HeadwayError, one sentence, for a tree or a rule that cannot be."""
    path = folder / "task.toml"
    tree = folder / spec.files.tree
    command = CommandTask(
        tree=tree.resolve(),
        editable=spec.files.editable,
        frozen=spec.files.frozen,
        tests=spec.files.tests,
        needs=spec.needs,
        setup=None if spec.setup is None else Setup(spec.setup.command, spec.setup.inputs, spec.setup.seconds),
        metric=_metric(spec),
        guards=tuple(Guard(_step(g.name, g), g.held_out, g.screen) for g in spec.guards),
        protected=tuple(Protected(_step(p.name, p), p.direction, p.may_lose) for p in spec.protected),
        canaries=tuple(Canary(c.name, c.guard, c.path, c.old, c.new) for c in spec.canaries),
    )
    editable = _editable_files(path, command)
    _check(path, spec, command)
    longest = max(step.seconds for step in (command.metric.step, *(g.step for g in command.guards)))
    return Task(
        id=spec.id,
        kind="command",
        folder=folder.resolve(),
        digest=digest,
        summary=spec.summary,
        goal=spec.goal.text,
        target_ratio=spec.goal.target_ratio,
        metric=spec.goal.metric,
        direction=spec.goal.direction,
        signature="",
        entry_text="",
        rules=_rules(command),
        tolerance="",
        cases=_cases(command),
        floor=Floor("", "", 0, 0),
        budget=TaskBudget(spec.budget.attempts, spec.budget.seconds, spec.budget.stall),
        source_bytes=spec.limits.source_bytes,
        job_seconds=longest * MOST_RUNS,
        baseline=bundle(editable),
        template=_text(folder, spec.search.template) if spec.search else "",
        knobs=tuple(Knob(k.name, k.values, k.help, k.structural) for k in spec.search.knobs) if spec.search else (),
        command=command,
    )


def _metric(spec: CommandTaskFile) -> Metric:
    one = spec.metric
    step = _step("metric", one)
    return Metric(step, spec.goal.direction, one.repetitions, one.deterministic, one.add, one.floor)


def _step(name: str, one: _Step) -> Step:
    return Step(name, one.command, one.run, one.seconds)


def _cases(command: CommandTask) -> tuple[Case, ...]:
    """Guards, canaries and protected metrics are what is checked; the metric is the one thing that is measured."""
    checked = [Case(f"guard {g.step.name}", {}, (0,), "guard", g.held_out, False, False) for g in command.guards]
    checked += [Case(f"protected {p.step.name}", {}, (0,), "protected", False, False, False) for p in command.protected]
    checked += [Case(f"canary {c.name}", {}, (0,), "canary", True, False, False) for c in command.canaries]
    return (Case("metric", {}, (0,), "metric", False, True, False), *checked)


def _rules(command: CommandTask) -> tuple[str, ...]:
    rules = [f"only these files may be added, changed or taken away: {', '.join(command.editable)}."]
    if command.frozen:
        rules.append(f"frozen all the same: {', '.join(command.frozen)}.")
    if command.tests:
        rules.append(
            f"tests in {', '.join(command.tests)} may not be deleted, skipped, weakened, retried or slept through."
        )
    rules += [f"the guard {g.step.name} must hold." for g in command.guards if not g.held_out]
    rules += [f"{p.step.name} ({p.direction} is better) may not get worse." for p in command.protected]
    if command.canaries:
        rules.append(f"{len(command.canaries)} known-bad versions of frozen files must still be caught.")
    return tuple(rules)


def _editable_files(path: Path, command: CommandTask) -> dict[str, str]:
    if not command.tree.is_dir():
        raise HeadwayError(f"{path} names the tree {command.tree.name}, which is no folder.", "Make it, or correct it.")
    if not command.tree.is_relative_to(path.parent.resolve()):
        raise HeadwayError(f"{path} names a tree that lies outside the task's folder.", "Move it in.")
    editable, size = {}, 0
    for file in sorted(command.tree.rglob("*")):
        relative = file.relative_to(command.tree).as_posix()
        if file.is_symlink():
            raise HeadwayError(f"{path}: {relative} in the tree is a link.", "Put the file itself there.")
        if not file.is_file() or "__pycache__" in file.parts:
            continue
        size += file.stat().st_size
        if command.may_edit(relative):
            editable[relative] = _text(command.tree, relative)
    if size > MOST_TREE_BYTES:
        raise HeadwayError(
            f"{path}: the tree has {size >> 20} MiB, and it is copied for every run.", "Fetch tools in [setup]."
        )
    if not editable:
        raise HeadwayError(f"{path}: no file of the tree is editable.", f"It has: {', '.join(command.editable)}.")
    return editable


def _check(path: Path, spec: CommandTaskFile, command: CommandTask) -> None:
    names = [g.name for g in spec.guards] + [p.name for p in spec.protected] + [c.name for c in spec.canaries]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise HeadwayError(f"{path}: two guards, metrics or canaries are called {twice}.", "Give each its own name.")
    for canary in command.canaries:
        if canary.guard not in {g.step.name for g in command.guards}:
            raise HeadwayError(f"{path}: the canary {canary.name} names no guard: {canary.guard!r}.", "Name one.")
        file = command.tree / canary.path
        if command.may_edit(canary.path) or not file.is_file() or canary.old not in _text(command.tree, canary.path):
            raise HeadwayError(
                f"{path}: the canary {canary.name} cannot be put into {canary.path}.",
                "It needs a frozen file that holds its `old`.",
            )
    for name in command.setup.inputs if command.setup else ():
        if not (path.parent / name).is_file():
            raise HeadwayError(f"{path}: [setup] names {name}, which is not in the folder.", "Add it.")
    if matches(spec.files.tree, command.editable):
        raise HeadwayError(f"{path}: patterns are relative to the tree.", f"Leave {spec.files.tree}/ out.")


def _text(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as wrong:
        raise HeadwayError(f"{folder / name} cannot be read as UTF-8 text.", "Leave it out of the editable.") from wrong
