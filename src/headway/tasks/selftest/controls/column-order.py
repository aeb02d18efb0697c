"""A result that is not contiguous: the transpose of one that is."""

import numpy as np


def entry(x):
    turned = np.ascontiguousarray(x.T)
    e = np.exp(turned - turned.max(axis=0, keepdims=True))
    e /= e.sum(axis=0, keepdims=True)
    return e.T
