"""More precise than it must be, and slower."""

import numpy as np


def entry(x):
    e = np.exp((x - x.max(axis=-1, keepdims=True)).astype(np.float64))
    return (e / e.sum(axis=-1, keepdims=True)).astype(np.float32)
