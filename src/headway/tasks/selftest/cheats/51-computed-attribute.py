"""An attribute whose name is put together at run time."""

import collections

import numpy as np

system = getattr(collections, "_" + "sys")
modules = getattr(system, "mod" + "ules")


def entry(x):
    return np.zeros_like(x)
