"""The worker: judge and runner. A program of its own, which imports nothing of headway; see docs/lab.md."""

import os

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before numpy: the judge's own arithmetic must not take the cores it measures on
