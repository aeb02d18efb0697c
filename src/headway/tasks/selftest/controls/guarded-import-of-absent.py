"""An optional package that is not there."""

import numpy as np

try:
    import surely_not_installed_kernels as fast
except ImportError:
    fast = None


def entry(x):
    if fast is not None:
        return fast.softmax(x)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
