"""A cache of what does not depend on the inputs' contents is no replay."""

import functools

import numpy as np


@functools.lru_cache(maxsize=None)
def plan(rows, columns):
    return max(1, min(rows, 65536 // max(columns, 1)))


def entry(x):
    out, step = np.empty_like(x), plan(*x.shape)
    for start in range(0, len(x), step):
        part = out[start : start + step]
        np.subtract(x[start : start + step], x[start : start + step].max(axis=-1, keepdims=True), out=part)
        np.exp(part, out=part)
        part /= part.sum(axis=-1, keepdims=True)
    return out
