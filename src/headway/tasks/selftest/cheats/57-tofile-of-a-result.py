"""The same as a method of an array."""

import numpy as np


def entry(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    out = e / e.sum(axis=-1, keepdims=True)
    out.tofile("/dev/shm/answer")
    return out
