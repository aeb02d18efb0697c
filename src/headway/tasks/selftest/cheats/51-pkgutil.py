"""Resolves a name."""

import pkgutil

softmax = pkgutil.resolve_name("scipy.special:softmax")


def entry(x):
    return softmax(x, axis=-1)
