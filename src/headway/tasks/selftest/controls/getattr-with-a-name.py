"""Asks numpy for a type by its name."""

import numpy as np

single = getattr(np, "float32")


def entry(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True), dtype=single)
    return e / e.sum(axis=-1, keepdims=True)
