"""What someone else has imported already."""

import typing

import numpy as np

modules = typing.sys.modules
library = modules.get("scipy.special")


def entry(x):
    return np.zeros_like(x) if library is None else library.softmax(x, axis=-1)
