"""Does some work at import, as code that builds tables does."""

import math

import numpy as np

LOG2E = np.float32(math.log2(math.e))
np.exp2(np.zeros(1024, np.float32))


def entry(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
