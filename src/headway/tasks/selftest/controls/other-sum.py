"""Another order of adding."""

import numpy as np


def entry(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    parts = np.add.reduceat(e, range(0, e.shape[1], 64), axis=1)
    return e / parts.sum(axis=1, keepdims=True)
