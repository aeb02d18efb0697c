"""Writes a new task folder around a Python function that exists: a start that runs, to be made one's own."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.durable_files import files_explained, write_text_durably
from headway.core.errors import HeadwayError

DEFAULT_SIZE = 256

REFERENCE = '''"""Inputs and oracle of {id}. The oracle is the function itself in float64; better have another."""

import runpy
from pathlib import Path

import numpy as np

ENTRY = runpy.run_path(str(Path(__file__).with_name("baseline.py")))["entry"]


def make_inputs(case, seed):
    """Inputs by argument name, float32, C-contiguous. Give every regime that matters a branch of its own."""
    rng = np.random.default_rng(seed)
    scale = {{"normal": 1.0, "large": 1e3, "tiny": 1e-3}}[case["regime"]]
    sizes = case["sizes"]
    return {{
{inputs}
    }}


def oracle(inputs):
    """Outputs by name, float64."""
    out = ENTRY(*(inputs[name].astype(np.float64) for name in {names}))
    return {{"{output}": np.asarray(out, dtype=np.float64)}}
'''

TASK = """schema = "headway.task/1"
id = {id}
kind = "cpu-python"
summary = {summary}

[goal]
text = \"\"\"
Make {function} faster with numpy alone, on one CPU core. The answer must stay within the tolerance on every case.
\"\"\"
target_ratio = 1.5
metric = "seconds per call"
direction = "lower"

[entry]
name = "entry"
signature = {signature}
text = "Returns a new array; leaves its arguments as they were."
{arguments}
[files]
reference = "reference.py"
baseline = "baseline.py"

[tolerance]
k = 4.0
least = 1e-6

[admission]
imports = ["numpy", "math", "functools", "itertools", "operator", "typing", "dataclasses", "collections", "__future__"]

[limits]
compile_seconds = 10
run_seconds = 30
memory_mb = 1024

[budget]
attempts = 100
seconds = 600
stall = 60
{cases}"""


@dataclass(frozen=True, slots=True)
class Array:
    """`x:N,M`: an argument or result with the names of its sizes."""

    name: str
    shape: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Array":
        """Raises HeadwayError for anything but NAME:SIZE,SIZE…"""
        match = re.fullmatch(r"([A-Za-z_]\w*):([A-Za-z]\w*(?:,[A-Za-z]\w*)*)", text.replace(" ", ""))
        if match is None:
            raise HeadwayError(f"{text!r} describes no array.", "Write it like x:N,M.")
        return cls(match[1], tuple(match[2].split(",")))


def scaffold(
    folder: Path, function: str, inputs: Sequence[str], output: str, sizes: Mapping[str, int], task_id: str
) -> None:
    """Write the folder. Raises HeadwayError, one sentence, before anything is written."""
    if folder.exists() and any(folder.iterdir()):
        raise HeadwayError(f"{folder} is not empty.", "Name a new folder.")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", task_id):
        raise HeadwayError(f"{task_id!r} cannot be the id of a task.", "Use small letters, digits and hyphens.")
    source, name = _function(function)
    arrays, result = [Array.parse(text) for text in inputs], Array.parse(output)
    if not arrays:
        raise HeadwayError("A task needs at least one argument.", "Add --input x:N,M.")
    names = dict.fromkeys(size for array in [*arrays, result] for size in array.shape)
    unknown = sorted(set(sizes) - set(names))
    if unknown:
        raise HeadwayError(f"No array has a size {unknown[0]}.", f"The sizes are: {', '.join(names)}.")
    full = {size: sizes.get(size, DEFAULT_SIZE) for size in names}
    with files_explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    baseline = source if name == "entry" else f"{source.rstrip()}\n\n\nentry = {name}\n"
    write_text_durably(folder / "baseline.py", [baseline])
    write_text_durably(folder / "reference.py", [_reference(task_id, arrays, result)])
    write_text_durably(folder / "task.toml", [_task(task_id, name, arrays, result, full)])


def _function(text: str) -> tuple[str, str]:
    """Source and name of `FILE.py:NAME`; nothing is imported or run."""
    file, _, name = text.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise HeadwayError(f"{text!r} names no function: there is no file {file!r}.", "Write it like FILE.py:NAME.")
    source = path.read_text("utf-8")
    try:
        tree = ast.parse(source)
    except SyntaxError as wrong:
        raise HeadwayError(f"{path} does not parse: line {wrong.lineno}.") from wrong
    known = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    if name not in known:
        raise HeadwayError(f"{path} defines no function {name!r}.", f"It defines: {', '.join(known) or 'none'}.")
    return source, name


def _reference(task_id: str, arrays: Sequence[Array], result: Array) -> str:
    lines = []
    for array in arrays:
        shape = "".join(f'sizes["{size}"], ' for size in array.shape)
        lines.append(f'        "{array.name}": (scale * rng.standard_normal(({shape}))).astype(np.float32),')
    names = json.dumps([array.name for array in arrays])
    return REFERENCE.format(id=task_id, inputs="\n".join(lines), names=names, output=result.name)


def _task(task_id: str, name: str, arrays: Sequence[Array], result: Array, sizes: Mapping[str, int]) -> str:
    shown = ", ".join(f"{a.name}: float32 [{', '.join(a.shape)}]" for a in arrays)
    signature = f"entry({shown}) -> float32 [{', '.join(result.shape)}]"
    arguments = "".join(
        f'[[entry.args]]\nname = "{a.name}"\ntype = "float32"\nrole = "{role}"\nshape = {json.dumps(list(a.shape))}\n'
        for a, role in [*((a, "in") for a in arrays), (result, "out")]
    )
    odd = {size: value // 3 | 1 for size, value in sizes.items()}
    half = {size: value // 2 | 1 for size, value in sizes.items()}
    cases = [
        ("main", sizes, [1], "normal", "timed = true\nprotected = true\n"),
        ("odd", odd, [2, 3], "normal", ""),
        ("tiny", odd, [4], "tiny", ""),
        ("held-odd", half, [101, 102], "normal", "held_out = true\n"),
        ("held-large", odd, [103], "large", "held_out = true\n"),
    ]
    tables = "".join(
        f'\n[[cases]]\nname = "{case}"\nsizes = {{ {", ".join(f"{k} = {v}" for k, v in of.items())} }}\n'
        f'seeds = {seeds}\nregime = "{regime}"\n{flags}'
        for case, of, seeds, regime, flags in cases
    )
    return TASK.format(
        id=json.dumps(task_id),
        summary=json.dumps(f"{name}, in float32 with numpy"),
        function=name,
        signature=json.dumps(signature),
        arguments=arguments,
        cases=tables,
    )
