"""Returns the same buffer at every call of a shape, filled anew."""

import numpy as np

workspace = {}


def entry(x):
    out = workspace.get(x.shape)
    if out is None:
        out = workspace[x.shape] = np.empty_like(x)
    np.subtract(x, x.max(axis=-1, keepdims=True), out=out)
    np.exp(out, out=out)
    out /= out.sum(axis=-1, keepdims=True)
    return out
