"""Runs a module instead of importing it."""

import runpy

space = runpy.run_module("scipy.special")


def entry(x):
    return space["softmax"](x, axis=-1)
