"""Measures the kernels that ship, beside whatever else is installed: one command, one process tree, one document.

    python -m headway.tasks.bench kda mla mla-decode --json        # `headway tune bench` runs it
    python -m headway.tasks.bench mla mla-decode --check           # errors of every case, nothing timed

Rows are medians with 95 % intervals and samples; ratios are paired within a run.  Where there is no Hopper GPU, or a
peer is not installed, a row says so and the exit code is 4; 1 where an error of --check is beyond its bar.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence

from headway.tasks.rows import Row, could_not_run, show, why_not

MEASURES = {
    "kda": "headway.tasks.kda.measure",
    "mla": "headway.tasks.mla.measure",
    "mla-decode": "headway.tasks.mla_decode.measure",
}


def main(arguments: Sequence[str]) -> int:
    """Print the rows of the tasks named in `arguments` (all without a name); 0, or 4 where something could not run."""
    parser = argparse.ArgumentParser(prog="python -m headway.tasks.bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"{', '.join(MEASURES)}; all without a name")
    parser.add_argument("--check", action="store_true", help="the error of every form in every case, nothing timed")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of lines")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.tasks if name not in MEASURES]
    if unknown:
        parser.error(f"{unknown[0]} has no kernels to measure; these have: {', '.join(MEASURES)}")
    reason = why_not()
    rows: list[Row] = []
    for name in options.tasks or MEASURES:
        found = [could_not_run("all", "headway", reason)] if reason else rows_of(name, options.check)
        rows += [{"task": name} | row for row in found]
    return show(rows, options.json)


def rows_of(task: str, check: bool) -> list[Row]:
    """What one task's module measures, or with `check` its errors."""
    module = importlib.import_module(MEASURES[task])
    found: list[Row] = module.check() if check else module.measure()
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
