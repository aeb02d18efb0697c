"""Static fingerprints of the shipped Triton kernels over Triton's releases, as tables for docs/benchmarks.md.

    python -m benchmarks.triton_static --envs DIR [--arch sm_90] [--only GLOB] [--report FILE] [--json]

DIR holds one virtual environment for each release, named after it (`python -m venv DIR/3.6.0 && DIR/3.6.0/bin/pip
install triton==3.6.0`; nothing else is needed). With --report FILE a report that `headway validate static --save`
wrote is shown instead of compiling. Cells: registers, spilled bytes if any, machine instructions. A release that could
not compile something has a row that says so, and the exit code is then 4.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.table import Row, could_not_run, show
from headway.validate.static.compare import DEFAULTS, compare_each, metrics, spilled
from headway.validate.static.listing import Compiled, Side, side_from_json
from headway.wiring.static import StaticAsked, run_static

SCHEMA = "headway.bench.triton_static/1"
KERNELS = Path(__file__).parent / "kernels.toml"


def main(argv: Sequence[str] | None = None) -> int:
    """Print kernels by releases, then what got worse from one release to the next."""
    options = _options(argv)
    sides = _read(options.report) if options.report else _compile(options)
    if not sides:
        return show(SCHEMA, [could_not_run("releases", f"no DIR/RELEASE/bin/python in {options.envs}")], as_json=True)
    rows: list[Row] = [_row(name, sides) for name in _names(sides, options.arch)]
    unable = [could_not_run(f"{name} by {side.label}", one.message) for side, name, one in _unable(sides, options.arch)]
    if options.json:
        return show(SCHEMA, [*rows, *unable], as_json=True)
    show(SCHEMA, rows, as_json=False)
    for one in unable:
        print(f"could not run: {one['name']}: {one['could_not_run']}")
    for comparison in compare_each(sides, "", DEFAULTS):
        for row in comparison.rows:
            if row.state in ("worse", "failed") and row.name.endswith(options.arch):
                said = "; ".join(row.worse) or row.message
                print(f"{row.state}: {comparison.before} -> {comparison.after}: {row.name}: {said}")
    return 4 if unable else 0


def _unable(sides: Sequence[Side], arch: str) -> Iterator[tuple[Side, str, Compiled]]:
    for side in sides:
        for one in side.kernels:
            if one.outcome == "could_not_run" and one.name.endswith(arch):
                yield side, one.name, one


def _row(name: str, sides: Sequence[Side]) -> dict[str, Any]:
    found = {side.label: next((one for one in side.kernels if one.name == name), None) for side in sides}
    return {"kernel": name, **{label: _cell(one) for label, one in found.items()}}


def _cell(one: Compiled | None) -> str:
    if one is None or one.fingerprint is None:
        return "" if one is None else one.outcome.replace("_", " ")
    spills = f" +{spilled(one.fingerprint)} B" if spilled(one.fingerprint) else ""
    return f"{one.fingerprint.registers}{spills} / {metrics(one.fingerprint)['instructions']}"


def _names(sides: Sequence[Side], arch: str) -> list[str]:
    every = dict.fromkeys(one.name for side in sides for one in side.kernels)
    return [name for name in every if not arch or name.endswith(f"/{arch}")]


def _read(path: Path) -> tuple[Side, ...]:
    return tuple(side_from_json(raw) for raw in json.loads(path.read_text())["sides"])


def _compile(options: argparse.Namespace) -> tuple[Side, ...]:
    pythons = sorted(options.envs.glob("*/bin/python"), key=lambda path: _version(path.parents[1].name))
    toolchains = tuple(f"{path.parents[1].name}={path}" for path in pythons)
    archs = (int(options.arch.removeprefix("sm_")),) if options.arch else ()
    if not toolchains:
        return ()
    asked = StaticAsked(KERNELS, toolchains, archs, options.only)
    return run_static(asked, lambda line: print(line, file=sys.stderr)).sides


def _version(name: str) -> list[int]:
    return [int(part) if part.isdigit() else 0 for part in name.split(".")]


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--envs", type=Path, default=Path("triton-envs"))
    parser.add_argument("--arch", default="", help="one architecture, such as sm_90; else all of the list")
    parser.add_argument("--only", default="*")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
