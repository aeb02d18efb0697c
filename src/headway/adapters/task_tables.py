"""The tables that every kind of `task.toml` has, validated at the edge, and how their first fault is worded."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)]
TaskId = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]


class Table(BaseModel):
    """A key that nobody knows is a mistake, not a comment."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class GoalTable(Table):
    """`[goal]`."""

    text: Annotated[str, StringConstraints(min_length=1, max_length=6000)]
    target_ratio: float | None = Field(default=None, gt=0)
    metric: str = "seconds per call"
    direction: Literal["lower", "higher"] = "lower"


class BudgetTable(Table):
    """`[budget]`."""

    attempts: int | None = Field(default=None, gt=0)
    seconds: float | None = Field(default=None, gt=0)
    stall: int | None = Field(default=None, gt=0)


class KnobTable(Table):
    """`[[search.knobs]]`."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")]
    values: tuple[int | str, ...] = Field(min_length=1)
    help: str = ""
    structural: bool = False


class SearchTable(Table):
    """`[search]`."""

    template: str
    knobs: tuple[KnobTable, ...] = Field(min_length=1)


def first_fault(wrong: ValidationError) -> str:
    """The first fault, as `table.key: what`."""
    fault = wrong.errors()[0]
    place = ".".join(str(part) for part in fault["loc"])
    return f"{place}: {fault['msg'].removeprefix('Value error, ')}"
