"""A function may be called reference, check or benchmark."""

import numpy as np


def reference_rows(x):
    return np.exp(x - x.max(axis=-1, keepdims=True))


def check_and_benchmark(e):
    return e / e.sum(axis=-1, keepdims=True)


def entry(x):
    return check_and_benchmark(reference_rows(x))
