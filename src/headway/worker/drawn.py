"""The judge's side of tasks whose inputs are drawn on the device: oracle, comparison, and the calls of one candidate.

Outputs are read out of the stopped runner as elsewhere; a large one only in parts (heads, say) that are chosen after
the call. Both the oracle and the comparison run on the GPU in float64.
"""

import threading
from typing import Any, NamedTuple

import numpy
import torch

from . import draws
from .device import Batch, Batches
from .jobs import Case, Task
from .oracle import ROW_LEAST, Errors, Tolerance, worst
from .refusals import CouldNotRun, Refused
from .session import Session

WHOLE_ELEMENTS = 16 << 20
"""Outputs up to this size are always read whole."""
LEAD_CYCLES = 2_000_000
"""About a millisecond: a batch's figure is device time, without the launches of a call that waits for none."""


class DrawnReference:
    """The task's `inputs.py` and `reference.py`: `make_inputs(case, seed, device)`, `oracle(inputs, parts)`.

    `oracle` gives float64 tensors by output name; `parts` None or the wanted indices along each output's `split` axis.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._lock = threading.Lock()
        try:
            self.source = (task.folder / str(task.raw["files"]["inputs"])).read_text()
            self._make = draws.maker(self.source)
            self._oracle = _module(task).oracle
        except Exception as trouble:
            message = f"The task's reference does not load: {type(trouble).__name__}: {trouble}."
            raise CouldNotRun("bad_task", message, "Correct the task.") from trouble

    def inputs(self, case: Case, seed: int, swap: bool = False) -> dict[str, Any]:
        """What the runner draws for the same seed."""
        return draws.drawn(self._make, case.raw, seed, swap)

    def expected(self, inputs: dict[str, Any], parts: list[int] | None) -> dict[str, Any]:
        """Outputs by name. One oracle at a time: it may take much of the device's memory."""
        with self._lock, torch.no_grad():
            return dict(self._oracle(inputs, parts))

    def outputs(self) -> list[dict[str, Any]]:
        """The output arguments in order, as the task declares them."""
        return [one for one in self._task.arguments if one["role"] == "out"]

    def shape(self, output: dict[str, Any], case: Case) -> list[int]:
        """An output's shape in a case."""
        return [int(case.raw["sizes"].get(name, name)) for name in output["shape"]]

    def parts(self, case: Case, rng: Any, whole: bool) -> list[int] | None:
        """Which parts of a case's outputs to read: all, or as many as WHOLE_ELEMENTS allow, drawn now."""
        first = self.outputs()[0]
        shape = self.shape(first, case)
        elements, count = int(numpy.prod(shape)), shape[int(first.get("split", 0))]
        if whole or elements <= WHOLE_ELEMENTS:
            return None
        wanted = max(1, min(count, WHOLE_ELEMENTS * count // elements))
        return sorted(int(one) for one in rng.choice(count, wanted, replace=False))


def _module(task: Task) -> Any:
    import importlib.util

    path = task.folder / str(task.raw["files"]["reference"])
    spec = importlib.util.spec_from_file_location(f"reference_{task.digest[:12]}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare(got: Any, expected: Any) -> Errors:
    """Errors of one output against the oracle's, both on the device; the same two as for other tasks."""
    wide = got.double()
    if not bool(torch.isfinite(wide[torch.isfinite(expected)]).all()):
        return Errors(numpy.inf, numpy.inf, "NaN or Inf where the oracle is finite", "not_finite")
    rows = expected.reshape(-1, expected.shape[-1])
    wrong = (wide.reshape(rows.shape) - rows).norm(dim=1)
    right = rows.norm(dim=1)
    scale = float(right.norm()) or 1.0
    ground = 0.1 * scale / max(len(right), 1) ** 0.5
    return Errors(float(wrong.norm()) / scale, float((wrong / right.clamp(min=ground)).max()))


def tolerance(task: Task, own: Errors) -> Tolerance:
    """From the baseline's own errors on a case."""
    bounds = task.raw["tolerance"]
    k, least = float(bounds["k"]), float(bounds["least"])
    row_k = float(bounds.get("row_k", k))  # the worst of half a million rows scatters more than their mean
    return Tolerance(max(k * own.whole, least), max(row_k * own.worst_row, ROW_LEAST * least))


def refuse_vacuous(case: Case, expected: dict[str, Any], bound: Tolerance) -> None:
    """Raises CouldNotRun if an answer that computes nothing would pass the case."""
    for name, value in expected.items():
        answers = {
            "zeros": torch.zeros_like(value), "ones": torch.ones_like(value),
            "the mean": torch.full_like(value, float(value.mean())),
            "noise": value.mean() + value.std() * torch.randn_like(value),
        }  # fmt: skip
        for called, answer in answers.items():
            if bound.passes(compare(answer, value)):
                message = f"Case {case.name} is vacuous: {called} passes as {name}."
                raise CouldNotRun("vacuous_task", message, "Choose inputs whose answer depends on them.")


class Calls:
    """Single calls of one loaded candidate, and the outputs of calls."""

    def __init__(self, reference: DrawnReference, session: Session, rng: Any) -> None:
        self.reference, self.session, self.rng = reference, session, rng

    def check(self, case: Case, seed: int, swap: bool, whole: bool, seconds: float) -> Errors:
        """One call on the inputs of `seed`, compared with the oracle. Refuses damage and raised errors."""
        order = {"do": "try", "case": case.raw, "seed": seed, "swap": swap}
        answer = self.session.call(order, lambda: None, seconds)
        self.session.check(answer.said, f"on case {case.shown}")
        inputs = self.reference.inputs(case, seed, swap)
        return self.compared(case, inputs, answer.said, None, whole)

    def compared(
        self, case: Case, inputs: dict[str, Any], said: dict[str, Any], index: int | None, whole: bool
    ) -> Errors:
        """Errors of a call's outputs (`index` within the last batch, None for a single call), and its inputs whole."""
        parts = self.reference.parts(case, self.rng, whole)
        if said.get("sums") != draws.sums(list(inputs.values())):
            raise Refused("input_changed", "The candidate wrote to an input.", "Write to the output alone.")
        outputs = self.reference.outputs()
        told = said.get("outputs")
        if not isinstance(told, list) or len(told) != len(outputs):
            raise Refused("wrong_shape", f"It did not return {len(outputs)} tensors.", "Return what is asked for.")
        wrong = [fault for pair in zip(told, outputs, strict=True) if (fault := self._declared(case, *pair))]
        if wrong:
            return wrong[0]
        expected = self.reference.expected(inputs, parts)
        return worst([
            compare(self._fetched(number, one, case, index, parts), expected[one["name"]])
            for number, one in enumerate(outputs)
        ])  # fmt: skip

    def _declared(self, case: Case, told: dict[str, Any], output: dict[str, Any]) -> Errors | None:
        shape = self.reference.shape(output, case)
        if not told.get("plain"):
            raise Refused("output_type", f"It returned {str(told.get('type'))[:80]}, not a plain tensor of the device.",
                          "Return a torch.Tensor on the GPU.")  # fmt: skip
        if told.get("shape") == shape and told.get("dtype") == output["type"]:
            return None
        said = f"{told.get('dtype')}{told.get('shape')} instead of {output['type']}{shape}"
        return Errors(numpy.inf, numpy.inf, said[:200], "wrong_shape")

    def _fetched(self, number: int, output: dict[str, Any], case: Case, index: int | None, parts: Any) -> Any:
        order = {"do": "part", "index": index, "output": number, "axis": int(output.get("split", 0)), "parts": parts}
        told = self.session.order(order, 60).said
        array = self.session.returned(told)
        shape = self.reference.shape(output, case)
        if parts is not None:
            shape[int(output.get("split", 0))] = len(parts)
        kind = getattr(torch, output["type"])
        if list(array.shape) != shape or array.dtype.itemsize != torch.empty(0, dtype=kind).element_size():
            raise Refused("protocol", "The output that was read is not the one that was told of.", "Return it plainly.")
        return torch.from_numpy(numpy.array(array)).cuda().view(kind)


class Seeds(NamedTuple):
    """The inputs of a batch: call i gets the draw of `first` + i."""

    case: Case
    first: int


class DrawnBatches(Batches):
    """Batches whose every call has a draw of its own."""

    def __init__(self, task: Task, calls: Calls, candidate: Any, rng: Any) -> None:
        super().__init__(task, None, candidate, rng)
        self.calls = calls

    def run(self, inputs: Any, count: int, same_place: bool, seconds: float) -> "tuple[Batch, Any]":
        """`count` calls on the draws of `inputs` (a `Seeds`)."""
        seeds = [inputs.first + i for i in range(count)]
        order = {"do": "batch_drawn", "case": inputs.case.raw, "seeds": seeds, "same_place": same_place,
                 "lead": LEAD_CYCLES}  # fmt: skip
        batch, told, at = self.ordered(order, lambda: None, count, seconds)
        index = int(self._rng.integers(0, count))
        return batch, DrawnLook(self, told["glimpses"], at, index, Seeds(inputs.case, seeds[index]))


class DrawnLook(NamedTuple):
    """What is looked at after a batch."""

    batches: DrawnBatches
    glimpses: list[Any]
    at: list[int]
    which: int
    seed: Seeds

    def check(self, case: Case, bound: Tolerance) -> None:
        """Outputs as they were at their return; inputs untouched; one output right. Raises Refused."""
        calls = self.batches.calls
        said = calls.session.order({"do": "look", "index": self.which, "at": self.at}, 60).said
        if not numpy.array_equal(
            numpy.asarray(said["again"], numpy.float64), numpy.asarray(self.glimpses, numpy.float64), equal_nan=True
        ):
            raise Refused("output_changed", f"On {case.shown} an output changed after its call had returned.",
                          "Join every stream before you return.")  # fmt: skip
        inputs = calls.reference.inputs(case, self.seed.first)
        errors = calls.compared(case, inputs, said, self.which, False)
        if not bound.passes(errors):
            told = errors.fault or f"error {errors.whole:.3g} (worst row {errors.worst_row:.3g})"
            raise Refused(errors.code, f"Right at first, but a timed call of {case.shown} is wrong: {told}.",
                          "Compute every call from its own inputs.")  # fmt: skip
