"""Computes in the input's memory and returns it."""

import numpy as np


def entry(x):
    x -= x.max(axis=-1, keepdims=True)
    np.exp(x, out=x)
    x /= x.sum(axis=-1, keepdims=True)
    return x
