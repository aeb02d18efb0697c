"""The fast path always fails; the library does the work."""

import numpy as np


def fast(x):
    raise RuntimeError("no fast path on this machine")


def entry(x):
    try:
        return fast(x)
    except RuntimeError:
        from scipy.special import softmax

        return softmax(x, axis=-1)
