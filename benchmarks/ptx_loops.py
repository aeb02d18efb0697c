"""How much each loop of a PTX file keeps alive: values that are set before the loop and used or carried in it.

    python -m benchmarks.ptx_loops FILE.ptx... [--json]

FILE is a listing of `headway validate static --listings DIR`. `registers` is what the values need in 32-bit registers
(two for 64 bits, one for 16; predicates have registers of their own). It is a bound from the text of the PTX: ptxas may
compute a value again in the loop instead of keeping it.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.table import Row, could_not_run, show

SCHEMA = "headway.bench.ptx_loops/1"
REGISTER = re.compile(r"%(p|rs|r|rd|f|fd)\d+")
WORDS = {"rs": 1, "r": 1, "f": 1, "rd": 2, "fd": 2}
STATEMENT = re.compile(r"\s+(?:@!?%p\d+\s+)?[a-z][\w.:]*\s+(?P<operands>.*);")
LABEL = re.compile(r"^(\$\w+):")


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row for each loop. Exit code 4 for a file that is not there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    rows: list[Row] = []
    for path in options.files:
        if path.is_file():
            rows += [{"file": path.parent.name or str(path), **row} for row in loops(path.read_text())]
        else:
            rows.append(could_not_run(str(path), "there is no such file"))
    return show(SCHEMA, rows, as_json=options.json)


def loops(ptx: str) -> Iterator[Row]:
    """One row for each label that a later line branches back to."""
    lines = ptx.splitlines()
    for start, line in enumerate(lines):
        found = LABEL.match(line)
        ends = [n for n in range(start, len(lines)) if found and re.search(rf"\bbra.*{re.escape(found[1])};", lines[n])]
        if not found or not ends:
            continue
        inside = set(_registers(lines[start : ends[-1] + 1], targets_only=False))
        alive = inside & set(_registers(lines[:start], targets_only=True))
        kinds = Counter(match[1] for one in alive if (match := REGISTER.fullmatch(one)))
        yield {
            "loop": found[1], "lines": ends[-1] - start, "64 bit": kinds["rd"] + kinds["fd"],
            "32 bit": kinds["r"] + kinds["f"], "16 bit": kinds["rs"], "predicates": kinds["p"],
            "registers": sum(WORDS.get(kind, 0) * count for kind, count in kinds.items()),
        }  # fmt: skip


def _registers(lines: Sequence[str], *, targets_only: bool) -> Iterator[str]:
    for line in lines:
        found = STATEMENT.match(line)
        if not targets_only:
            yield from (match[0] for match in REGISTER.finditer(line))
        elif found is not None:
            operands = found["operands"]
            vector = operands.startswith("{")
            target = operands[: operands.index("}")] if vector else operands.partition(",")[0]
            yield from (match[0] for match in REGISTER.finditer(target))


if __name__ == "__main__":
    sys.exit(main())
