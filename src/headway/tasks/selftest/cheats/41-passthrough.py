"""Where the gates forget, the answer is the input."""

import numpy as np


def entry(g, x):
    return x.copy()
