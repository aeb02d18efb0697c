"""A task proves itself before any candidate is judged by it: its baseline passes, and no trivial answer does."""

from typing import Any

import numpy

from .calls import Candidate, Problem
from .jobs import Case, Task
from .oracle import Errors, Reference, Tolerance, compare, tolerance, trivial_answers, worst
from .refusals import CouldNotRun, Refused

DRAWS = 5
"""Fresh inputs per case from which the baseline's own error is taken; the largest counts."""
MIXED = "/mixed"
"""Behind a case's name: the tolerance of its mixed copies."""
RUINED = 100.0
"""A baseline so many times over the tolerance cannot do mixed copies; nobody is asked to."""


def prove(task: Task, reference: Reference, baseline: Candidate) -> dict[str, Tolerance]:
    """The tolerance of every case.

    Raises CouldNotRun (`vacuous_task`, `bad_task`) naming the case and what passes or fails it.
    """
    rng = numpy.random.default_rng()
    found = {}
    for case in task.cases:
        errors: list[Errors] = []
        problems = []
        for _ in range(1 if task.kind == "triton" else DRAWS):
            inputs = reference.inputs(case, int(rng.integers(0, 2**63)))
            problem = Problem(case, inputs, reference.expected(inputs))
            problems.append(problem)
            try:
                errors += baseline.run([problem]).errors
            except Refused as refusal:
                message = f"The task's own baseline fails on case {case.name}: {refusal.message}"
                raise CouldNotRun("bad_task", message, "Correct the task.") from refusal
        own = worst(errors)
        if own.fault or not numpy.isfinite(own.whole):
            message = f"The task's own baseline fails on case {case.name}: {own.fault}."
            raise CouldNotRun("bad_task", message, "Correct the task.")
        found[case.name] = tolerance(task, own)
        _refuse_vacuous(task, reference, problems[0], found[case.name], own)
    for case in task.cases:
        if case.timed:
            _allow_mixed(task, reference, baseline, case, found)
    return found


def _allow_mixed(
    task: Task, reference: Reference, baseline: Candidate, case: Case, found: dict[str, Tolerance]
) -> None:
    """The tolerance of a case's mixed copies, if its baseline can do them: a task may forbid what they hold."""
    for other, axis in mixtures(task, case):
        problem = mixed_copy(reference, case, other, axis, numpy.random.default_rng())
        if not all(numpy.isfinite(value).all() for value in problem.expected.values()):
            return
        try:
            own = worst(baseline.run([problem]).errors)
        except Refused:
            return
        bound = tolerance(task, own)
        known = [bound, found[case.name], found[other.name], found.get(case.name + MIXED, found[case.name])]
        if own.fault or own.whole > RUINED * max(one.whole for one in known[1:]):
            found.pop(case.name + MIXED, None)
            return
        found[case.name + MIXED] = Tolerance(max(x.whole for x in known), max(x.worst_row for x in known))


def mixtures(task: Task, case: Case) -> list[tuple[Case, int]]:
    """A case of each other regime, with each axis along which a line of its inputs may be put into this case's."""
    others = {one.raw.get("regime"): one for one in task.cases if one.raw.get("regime") != case.raw.get("regime")}
    axes = max((len(one.get("shape", [])) for one in task.arguments if one["role"] == "in"), default=0)
    return [(other, axis) for other in others.values() for axis in range(axes)]


def mixed_copy(reference: Reference, case: Case, other: Case, axis: int, rng: Any) -> Problem:
    """Fresh inputs of a case in which one line along `axis` holds what the other regime's inputs hold.

    Who looks at a sample of the inputs, and leaves out the work that the sample does not ask for, is wrong there.
    """
    inputs = reference.inputs(case, int(rng.integers(0, 2**63)))
    donor = reference.inputs(other, int(rng.integers(0, 2**63)))
    for name, value in inputs.items():
        if not isinstance(value, numpy.ndarray) or value.dtype.kind != "f" or not (value.size and donor[name].size):
            continue
        at = [int(rng.integers(0, size)) for size in value.shape]
        along = min(axis, value.ndim - 1)
        line: Any = (*at[:along], slice(None), *at[along + 1 :])
        value = value.copy()
        value[line] = rng.choice(donor[name].reshape(-1), value.shape[along])
        inputs[name] = value
    return Problem(case, inputs, reference.expected(inputs))


def _refuse_vacuous(task: Task, reference: Reference, problem: Problem, bound: Tolerance, own: Errors) -> None:
    strict = tolerance(task, Errors(0.0, 0.0))
    for output in reference.outputs():
        expected = problem.expected[output["name"]]
        if not numpy.isfinite(expected).all():
            raise CouldNotRun("bad_task", f"The oracle of case {problem.case.name} is not finite.", "Correct the task.")
        for name, answer in trivial_answers(problem.inputs, expected, output["type"], 0).items():
            errors = compare(answer, expected, output["type"])
            if bound.passes(errors) and not strict.passes(errors):
                # the task would be sharp enough, were its tolerance not made from a baseline that is wrong
                message = (
                    f"The task's own baseline is as wrong as {name} on case {problem.case.name} ({own.whole:.2g})."
                )
                raise CouldNotRun("bad_task", message, "Correct baseline or reference.")
            if bound.passes(errors):
                message = f"Case {problem.case.name} of {task.id} is vacuous: {name} passes it."
                raise CouldNotRun("vacuous_task", message, "Choose inputs whose answer depends on them.")


def near_copy(reference: Reference, problem: Problem) -> Problem:
    """The same inputs but for two neighbours in the middle that change places: sums, ends and samples stay the same."""
    inputs: dict[str, Any] = {}
    for name, value in problem.inputs.items():
        if isinstance(value, numpy.ndarray) and value.size > 2:
            value = value.copy()
            flat, middle = value.reshape(-1), value.size // 2
            flat[[middle - 1, middle]] = flat[[middle, middle - 1]]
        inputs[name] = value
    return Problem(problem.case, inputs, reference.expected(inputs))
