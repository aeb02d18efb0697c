"""The baseline again, under another name: there is nothing in it to promote."""

import numpy as np


def recurrence(decay, x):
    h, state = np.empty_like(x), np.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        state = decay[:, t] * state + x[:, t]
        h[:, t] = state
    return h


def entry(g, x):
    return recurrence(np.exp(g), x)
