"""The gated scan step by step, vectorised over batch and channels."""

import numpy as np


def entry(g, x):
    """float32 [B, T, D] twice -> float32 [B, T, D]."""
    decay = np.exp(g)
    h = np.empty_like(x)
    state = np.zeros_like(x[:, 0])
    for t in range(x.shape[1]):
        state = decay[:, t] * state + x[:, t]
        h[:, t] = state
    return h
