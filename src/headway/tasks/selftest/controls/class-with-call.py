"""The entry point is an object."""

import numpy as np


class Scan:
    def __init__(self):
        self.decay = None

    def __call__(self, g, x):
        self.decay = np.exp(g)
        h = np.empty_like(x)
        state = np.zeros_like(x[:, 0])
        for t in range(x.shape[1]):
            state = self.decay[:, t] * state + x[:, t]
            h[:, t] = state
        return h


entry = Scan()
