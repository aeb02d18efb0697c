"""Uses one of the inputs as scratch memory."""

import numpy as np


def entry(g, x):
    np.exp(g, out=g)
    h, state = np.empty_like(x), np.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        state = g[:, t] * state + x[:, t]
        h[:, t] = state
    return h
