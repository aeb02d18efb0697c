"""An annotation is text that the library evaluates."""

import typing

import numpy as np


def carrier(x: "().__class__.__base__.__subclasses__()"):
    return x


typing.get_type_hints(carrier)


def entry(x):
    return np.zeros_like(x)
