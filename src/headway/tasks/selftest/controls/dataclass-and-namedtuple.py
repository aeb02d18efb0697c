"""The library's own code generators are no dynamic code of the candidate's."""

from __future__ import annotations

import collections
import dataclasses
import typing

import numpy as np

Shape = collections.namedtuple("Shape", ["rows", "columns"])


@dataclasses.dataclass(frozen=True)
class Plan:
    shape: Shape
    step: int = 64


class Pair(typing.NamedTuple):
    low: int
    high: int


def entry(x):
    plan = Plan(Shape(*x.shape))
    out = np.empty_like(x)
    for start in range(0, plan.shape.rows, plan.step):
        span = Pair(start, start + plan.step)
        e = np.exp(x[span.low : span.high] - x[span.low : span.high].max(axis=-1, keepdims=True))
        out[span.low : span.high] = e / e.sum(axis=-1, keepdims=True)
    return out
