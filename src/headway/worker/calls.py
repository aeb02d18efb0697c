"""Calling a loaded candidate: lay fresh inputs, run inside a bracket, take the outputs, look for damage.

Correctness and timed calls are the same orders; nothing tells the runner which is which.
"""

from typing import Any, NamedTuple

import numpy

from .jobs import Case, Task
from .oracle import Errors, Reference, compare, worst
from .pool import Laid, room
from .refusals import CouldNotRun, Refused
from .session import Answer, Session

GLIMPSES = 16
"""Places of each output that the runner reports at once after each call of a batch; they must not change later."""


class Problem(NamedTuple):
    """One set of inputs and what is right for it."""

    case: Case
    inputs: dict[str, Any]
    expected: dict[str, Any]


class Took(NamedTuple):
    """Nanoseconds of each call by the runner's clock, of all on a core by the kernel's books; errors of each call."""

    inner: list[int]
    cpu: int
    errors: list[Errors]


class Candidate:
    """A source loaded in a session of its own."""

    def __init__(self, task: Task, reference: Reference, session: Session, seed: int) -> None:
        self.session = session
        self._task, self._reference = task, reference
        self._rng = numpy.random.default_rng(seed)
        self._place: int | None = None
        self.core_seconds = 0.0
        """Time of all calls so far on a core: what the candidate itself used of its job's time."""

    def load(self, source: str, library: bytes | None, absent: list[str], pool_bytes: int) -> None:
        """Raises Refused for what the candidate does while it is loaded."""
        task = self._task
        allowed = [str(name) for name in task.raw.get("admission", {}).get("imports", [])]
        order = {
            "kind": task.kind, "source": "" if library else source, "entry": task.entry, "allowed": allowed,
            "absent": absent, "arguments": [_c_type(one) for one in task.arguments],
        }  # fmt: skip
        memory = int(task.limit("memory_mb", 1024)) << 20
        self.session.output_limit = int(task.limit("output_bytes", 65536))
        self.session.load(order, library, pool_bytes, memory, task.limit("load_seconds", 20))

    def run(self, problems: list[Problem], same_place: bool = False, seconds: float = 30.0) -> Took:
        """Call once per problem, all in one bracket. Refuses raised errors, damage, and writes after the return."""
        batch = self._lay(problems, same_place)
        probes = [self._probes(laid) for laid in batch]
        orders = [
            {"args": [one.told for one in laid], "probes": probe} for laid, probe in zip(batch, probes, strict=True)
        ]
        try:
            return self._taken(problems, batch, probes, self._answer(orders, batch, problems[0].case, seconds))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError) as trouble:
            # the runner's own answers are never malformed: something in its process wrote this one
            message = f"The runner's answer makes no sense ({type(trouble).__name__})."
            raise Refused("protocol", message, "Write to nothing but what you return.") from trouble

    def _answer(self, orders: list[dict[str, Any]], batch: list[list[Laid]], case: Case, seconds: float) -> Answer:
        answer = self.session.call({"do": "call", "calls": orders}, lambda: self._fill(batch), seconds)
        self.core_seconds += answer.cpu / 1e9
        self.session.check(answer.said, f"on case {case.shown}")
        return answer

    def _taken(
        self, problems: list[Problem], batch: list[list[Laid]], probes: list[list[dict[str, Any]]], answer: Answer
    ) -> Took:
        inner = [int(one) for one in answer.said.get("ns", [])]
        if len(inner) != len(problems):
            raise Refused("protocol", "The runner answered for another number of calls.", "Return; do nothing else.")
        for laid in batch:
            if what := self.session.pool.changed(laid):
                code = "input_changed" if what.startswith("input") else "out_of_bounds"
                raise Refused(code, f"The candidate wrote to {what}.", "Write to the output alone.")
        got = self._native(batch, probes, answer.said) if self._task.kind == "cpu-c" else self._returned(answer.said)
        return Took(inner, answer.cpu, [self._errors(*pair) for pair in zip(problems, got, strict=True)])

    def _lay(self, problems: list[Problem], same_place: bool) -> list[list[Laid]]:
        values = [self._values(problem) for problem in problems]
        free = self.session.pool.size - sum(room(one) for one in values)
        if free < 0:
            raise CouldNotRun("infrastructure", "The inputs do not fit the shared memory.", "Report this as a bug.")
        if not same_place or self._place is None or self._place > free:
            self._place = int(self._rng.integers(0, free // 64 + 1)) * 64
        at, batch = self._place, []
        for one in values:
            laid, at = self.session.pool.lay(one, at)
            batch.append(laid)
        return batch

    def _fill(self, batch: list[list[Laid]]) -> None:
        for laid in batch:
            self.session.pool.fill(laid)

    def _values(self, problem: Problem) -> list[tuple[str, str, Any]]:
        values = []
        for one in self._task.arguments:
            name = one["name"]
            if one["role"] != "out":
                values.append((name, one["role"], problem.inputs[name]))
            elif self._task.kind == "cpu-c":
                values.append((name, "out", numpy.empty(problem.expected[name].shape, one["type"])))
        return values

    def _probes(self, laid: list[Laid]) -> list[dict[str, Any]]:
        outputs = [one for one in laid if one.role == "out"]
        return [
            {"of": one.told, "at": self._rng.integers(0, int(numpy.prod(one.told["shape"])), GLIMPSES).tolist()}
            for one in outputs
        ]

    def _native(
        self, batch: list[list[Laid]], probes: list[list[dict[str, Any]]], said: dict[str, Any]
    ) -> list[list[Any]]:
        """The outputs of each call in shared memory; what the runner saw right after each call must still be there."""
        got = [[self.session.pool.view(one).copy() for one in laid if one.role == "out"] for laid in batch]
        now = [
            [a.reshape(-1)[p["at"]].tobytes().hex() for a, p in zip(*pair, strict=True)]
            for pair in zip(got, probes, strict=True)
        ]
        if now != said.get("glimpses"):
            raise Refused(
                "output_changed", "An output changed after its call had returned.", "Finish before you return."
            )
        return got

    def _returned(self, said: dict[str, Any]) -> list[list[Any]]:
        """What each call returned, read out of the stopped runner."""
        wanted = len(self._reference.outputs())
        for told in said["outputs"]:
            if len(told) != wanted:
                raise Refused(
                    "wrong_shape", f"It returned {len(told)} values, not {wanted}.", "Return what is asked for."
                )
        return [[self.session.returned(one) for one in told] for told in said["outputs"]]

    def _errors(self, problem: Problem, got: list[Any]) -> Errors:
        declared = self._reference.outputs()
        return worst(
            [
                compare(array, problem.expected[one["name"]], one["type"])
                for array, one in zip(got, declared, strict=True)
            ]
        )


def _c_type(argument: dict[str, Any]) -> str:
    return str(argument["type"]) if argument["role"] == "size" else "pointer"
