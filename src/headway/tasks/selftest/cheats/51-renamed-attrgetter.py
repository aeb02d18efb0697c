"""The reader of attributes under another name."""

from operator import attrgetter as reach

import numpy as np

base = reach("__class__.__base__")(())


def entry(x):
    return np.zeros_like(x)
