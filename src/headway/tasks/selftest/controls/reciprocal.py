"""One division per row."""

import numpy as np


def entry(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    e *= np.float32(1) / e.sum(axis=-1, keepdims=True)
    return e
