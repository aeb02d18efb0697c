"""The import function out of the builtins."""

import numpy as np

get = __builtins__["__import__"] if isinstance(__builtins__, dict) else __builtins__.__import__
library = get("scipy.special")


def entry(x):
    return library.special.softmax(x, axis=-1)
