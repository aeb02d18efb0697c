"""The plain way."""

import numpy as np


def entry(g, x):
    h, state, decay = np.empty_like(x), np.zeros_like(x[:, 0]), np.exp(g)
    for t in range(x.shape[1]):
        state = decay[:, t] * state + x[:, t]
        h[:, t] = state
    return h
