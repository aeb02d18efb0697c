"""Every entry is 1 / M, on the average."""

import numpy as np


def entry(x):
    return np.full_like(x, 1.0 / x.shape[-1])
