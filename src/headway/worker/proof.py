"""A task proves itself before any candidate is judged by it: its baseline passes, and no trivial answer does."""

from typing import Any

import numpy

from .calls import Candidate, Problem
from .jobs import Task
from .oracle import Errors, Reference, Tolerance, compare, tolerance, trivial_answers, worst
from .refusals import CouldNotRun, Refused

DRAWS = 5
"""Fresh inputs per case from which the baseline's own error is taken; the largest counts."""


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
    return found


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
