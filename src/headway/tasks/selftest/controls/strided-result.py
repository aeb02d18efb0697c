"""A result that is every second column of something larger."""

import numpy as np


def entry(x):
    wide = np.empty((x.shape[0], 2 * x.shape[1]), x.dtype)
    out = wide[:, ::2]
    np.exp(x - x.max(axis=-1, keepdims=True), out=out)
    out /= out.sum(axis=-1, keepdims=True)
    return out
