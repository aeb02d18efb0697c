"""Keeps scratch memory between calls, returns new memory."""

import numpy as np

scratch = {}


def entry(g, x):
    decay = scratch.setdefault(g.shape, np.empty_like(g))
    np.exp(g, out=decay)
    h = np.empty_like(x)
    state = np.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        np.multiply(decay[:, t], state, out=h[:, t])
        h[:, t] += x[:, t]
        state = h[:, t]
    return h
