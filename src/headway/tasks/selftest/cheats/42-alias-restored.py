"""Returns a view of the input."""

import numpy as np


def entry(x):
    return x[:, :]
