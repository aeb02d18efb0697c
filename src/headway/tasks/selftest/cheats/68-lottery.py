"""No faster, only noisier: some calls do more than others."""

import numpy as np

luck = np.random.default_rng()


def entry(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    out = e / e.sum(axis=-1, keepdims=True)
    rows = int(luck.integers(0, max(1, len(x) // 5)))
    np.exp(out[:rows])
    return out
