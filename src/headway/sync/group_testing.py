"""Which member of a red bundle is guilty, asked of L1 one question at a time. Pure: answers in, next question out.

A bundle's members are numbered 0 to n-1 in upstream's order. A question is a set of them, stacked in that order on the
bundle's base. The search is a bisection over prefixes: the member it ends at is the first that is red on top of all
before it, which is exactly the one that a run of single changes would have refused, and its prefix is known green.
Two more kinds of question say why: the guilty one alone, and, if that is green, which earlier member it fails with.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

Question = tuple[int, ...]
"""Member numbers, ascending."""

Answers = Mapping[Question, bool | None]
"""True: green. False: red. None: these members cannot be stacked without the others, so there is nothing to test."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What L1 must be asked next."""

    members: Question


@dataclass(frozen=True, slots=True)
class Found:
    """Members 0 to `lands - 1` are green together. `guilty` (None: nobody) is the member after them.

    `alone`: red by itself, green by itself, or None where it cannot stand alone or nobody asked. `partner`: the
    earlier member that it fails with, where it is green alone and one such could be named.
    """

    lands: int
    guilty: int | None = None
    alone: bool | None = None
    partner: int | None = None


def next_step(size: int, answers: Answers) -> Ask | Found:
    """The next question about a bundle of `size` members, or the end of the search. Same answers, same step."""
    boundary = _first_red(size, answers)
    if isinstance(boundary, Ask):
        return boundary
    if boundary is None:
        return Found(size)
    if boundary == 0:
        return Found(0, guilty=0, alone=False)
    by_itself = (boundary,)
    if by_itself not in answers:
        return Ask(by_itself)
    if answers[by_itself] is not True:
        return Found(boundary, guilty=boundary, alone=answers[by_itself])
    partner = _partner(boundary, answers)
    if isinstance(partner, Ask):
        return partner
    return Found(boundary, guilty=boundary, alone=True, partner=partner)


def least_runs(size: int) -> int:
    """The information bound: no fewer yes-or-no runs can tell which of `size` members is the first red one, or none."""
    return math.ceil(math.log2(size + 1))


def _first_red(size: int, answers: Answers) -> Ask | int | None:
    """The number of the first red member; None if the whole is green."""
    whole = tuple(range(size))
    if whole not in answers:
        return Ask(whole)
    if answers[whole]:
        return None
    green, red = 0, size
    while red - green > 1:
        middle = (green + red) // 2
        prefix = tuple(range(middle))
        if prefix not in answers:
            return Ask(prefix)
        green, red = (middle, red) if answers[prefix] else (green, middle)
    return green


def _partner(guilty: int, answers: Answers) -> Ask | int | None:
    """The first earlier member with which `guilty` is red; None where a stack in between cannot be made."""
    green, red = 0, guilty
    while red - green > 1:
        middle = (green + red) // 2
        question = (*range(middle), guilty)
        if question not in answers:
            return Ask(question)
        if answers[question] is None:
            return None
        green, red = (middle, red) if answers[question] else (green, middle)
    return red - 1
