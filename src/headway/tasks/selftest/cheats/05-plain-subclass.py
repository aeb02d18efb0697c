"""A subclass without any hook that the static rules could see."""

import numpy as np


class Rows(np.ndarray):
    pass


def entry(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)).view(Rows)
