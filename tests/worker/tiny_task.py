"""A task small enough for tests of the machinery: twice the input, in numpy or in C."""

from pathlib import Path

REFERENCE = """
import numpy as np

def make_inputs(case, seed):
    n = case["sizes"]["N"]
    x = np.random.default_rng(seed).standard_normal(n, dtype=np.float32)
    return {"x": x, "n": n} if case["sizes"].get("C") else {"x": x}

def oracle(inputs):
    return {"y": inputs["x"].astype(np.float64) * 2 + 1}
"""
BASELINE = "def entry(x):\n    return x * 2 + 1\n"
BASELINE_C = "void entry(int n, const float *x, float *y) { for (int i = 0; i < n; i++) y[i] = x[i] * 2 + 1; }\n"
TOML = """
schema = "headway.task/1"
id = "tiny"
kind = "{kind}"
[entry]
name = "entry"
{arguments}
[files]
reference = "reference.py"
baseline = "{baseline}"
[tolerance]
k = 4.0
least = 1e-6
[admission]
imports = ["numpy", "math", "functools", "dataclasses", "collections", "typing", "itertools"]
[limits]
run_seconds = 2
memory_mb = 256
output_bytes = 4096
[[cases]]
name = "timed"
sizes = {{ N = 40000{extra} }}
timed = true
protected = true
[[cases]]
name = "held"
sizes = {{ N = 77{extra} }}
seeds = [5, 6]
held_out = true
"""
ARGUMENT = '[[entry.args]]\nname = "{0}"\ntype = "{1}"\nrole = "{2}"\nshape = ["N"]\n'


def tiny_task(folder: Path, kind: str = "cpu-python") -> Path:
    """Write the task's folder and return it."""
    native = kind == "cpu-c"
    arguments = [("x", "float32", "in"), ("y", "float32", "out")]
    if native:
        arguments.insert(0, ("n", "int32", "size"))
    folder.mkdir(parents=True)
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "baseline.c" if native else folder / "baseline.py").write_text(BASELINE_C if native else BASELINE)
    (folder / "task.toml").write_text(
        TOML.format(
            kind=kind,
            arguments="".join(ARGUMENT.format(*one) for one in arguments),
            baseline="baseline.c" if native else "baseline.py",
            extra=", C = 1" if native else "",
        )
    )
    return folder
