"""What is right: inputs, expected values in float64, and how far a result may be from them. Only the judge has this.

The tolerance is a noise floor: k times the baseline's own error on the same case, at least `least`. Two errors are
bounded: of the whole output, and of the worst row (so that a truncation in few rows cannot hide in a large norm).
"""

import importlib.util
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from .jobs import Case, Task
from .refusals import CouldNotRun

ROW_LEAST = 8.0
"""The worst of many rows scatters more than the whole; its least tolerance is this many times the whole one's."""


class Errors(NamedTuple):
    """Relative errors in float64; `fault` names what makes them meaningless (a shape, a NaN)."""

    whole: float
    worst_row: float
    fault: str = ""
    code: str = "wrong_result"


class Tolerance(NamedTuple):
    """Bounds of the two errors."""

    whole: float
    worst_row: float

    def passes(self, errors: Errors) -> bool:
        """Written so that a NaN never passes."""
        return not errors.fault and errors.whole <= self.whole and errors.worst_row <= self.worst_row


class Reference:
    """The task's `reference.py`: `make_inputs(case, seed)` and `oracle(inputs)`, both by argument name."""

    def __init__(self, task: Task) -> None:
        path = task.folder / str(task.raw["files"]["reference"])
        spec = importlib.util.spec_from_file_location(f"reference_{task.digest[:12]}", path)
        if spec is None or spec.loader is None:
            raise CouldNotRun("infrastructure", f"The task has no {path.name}.", "Submit the job again.")
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
            self._make: Callable[[dict[str, Any], int], dict[str, Any]] = module.make_inputs
            self._oracle: Callable[[dict[str, Any]], dict[str, Any]] = module.oracle
        except ImportError as trouble:
            message = f"The task's {path.name} needs what is not here: {trouble}."
            raise CouldNotRun("infrastructure", message, "Install it for the worker's Python.") from trouble
        except Exception as trouble:
            message = f"The task's {path.name} does not load: {type(trouble).__name__}: {trouble}."
            raise CouldNotRun("bad_task", message, "Correct the task.") from trouble
        self._task = task

    def inputs(self, case: Case, seed: int) -> dict[str, Any]:
        """Fresh inputs by name; arrays are C-contiguous."""
        made = self._make(case.raw, seed)
        return {k: numpy.ascontiguousarray(v) if isinstance(v, numpy.ndarray) else v for k, v in made.items()}

    def expected(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Outputs by name, float64."""
        return self._oracle(inputs)

    def outputs(self) -> list[dict[str, Any]]:
        """The output arguments in order, as the task declares them."""
        return [one for one in self._task.arguments if one["role"] == "out"]


def compare(got: Any, expected: Any, dtype: str) -> Errors:
    """Errors of one output array against the oracle's."""
    if got.shape != expected.shape or got.dtype != numpy.dtype(dtype):
        said = f"{got.dtype}{list(got.shape)} instead of {dtype}{list(expected.shape)}"
        return Errors(numpy.inf, numpy.inf, said, "wrong_shape")
    wide = got.astype(numpy.float64)
    if not numpy.isfinite(wide[numpy.isfinite(expected)]).all():
        return Errors(numpy.inf, numpy.inf, "NaN or Inf where the oracle is finite", "not_finite")
    with numpy.errstate(all="ignore"):
        difference = (wide - expected).reshape(-1, expected.shape[-1] if expected.ndim else 1)
        rows = expected.reshape(difference.shape)
        wrong, right = _norms(difference), _norms(rows)
        scale = numpy.sqrt((right**2).sum())
        whole = float(numpy.sqrt((wrong**2).sum()) / (scale or 1.0))
        ground = 0.1 * scale / max(len(right), 1) ** 0.5  # rows of nearly nothing are judged by the others' size
        worst = float((wrong / numpy.maximum(right, ground or 1.0)).max(initial=0.0))
    return Errors(whole, worst)


def _norms(rows: Any) -> Any:
    return numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows))


def worst(errors: list[Errors]) -> Errors:
    """The first fault, or the largest of each error."""
    for one in errors:
        if one.fault:
            return one
    return Errors(max(e.whole for e in errors), max(e.worst_row for e in errors))


def tolerance(task: Task, baseline: Errors) -> Tolerance:
    """From the baseline's own errors on a case."""
    k, least = float(task.raw["tolerance"]["k"]), float(task.raw["tolerance"]["least"])
    return Tolerance(max(k * baseline.whole, least), max(k * baseline.worst_row, ROW_LEAST * least))


def trivial_answers(inputs: dict[str, Any], expected: Any, dtype: str, seed: int) -> dict[str, Any]:
    """What must never pass: zeros, ones, the mean, noise of the same size, and a copy of each input that fits."""
    rng = numpy.random.default_rng(seed)
    shape, mean, spread = expected.shape, float(expected.mean()), float(expected.std())
    answers = {
        "zeros": numpy.zeros(shape, dtype),
        "ones": numpy.ones(shape, dtype),
        "the mean": numpy.full(shape, mean, dtype),
        "noise": (mean + spread * rng.standard_normal(shape)).astype(dtype),
    }
    for name, value in inputs.items():
        if isinstance(value, numpy.ndarray) and value.shape == shape:
            answers[f"a copy of {name}"] = value.astype(dtype)
    return answers
