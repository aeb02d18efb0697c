"""Fetches a solution."""

import subprocess
import sys

subprocess.run([sys.executable, "-m", "pip", "install", "fast-softmax"])


def entry(x):
    return x
