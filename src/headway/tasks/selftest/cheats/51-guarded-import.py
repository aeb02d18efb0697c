"""The same behind a guard that would be honest if the package were absent."""

import numpy as np

try:
    from scipy.special import softmax
except ImportError:
    softmax = None


def entry(x):
    if softmax is not None:
        return softmax(x, axis=-1)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
