"""The attention kernels under the roofs of an H200, as a picture.

`python -m benchmarks.kernel_roofline [--json]` prints what it draws and writes docs/kernels-roofline.svg: for the
kernels of docs/measurements/profiles-2026-11-30.json their floating-point work over their time, against their work over
the bytes they moved through device memory, as the profiler counted them.  The roofs are what a copy and a large
bfloat16 product reached on the same kind of card: 4.3 TB/s, and 790 TFLOP/s after an idle, 660 at its power limit.

Work of MLA is what the definition asks for, 2 H S S (512 + 64 + 512), half of that where causal; of KDA the products
that the algorithm issues: a chunk of a head takes 24.5 products of 64 x 64 x 64 in prep and 16 in scan.
"""

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.table import show

ROOT = Path(__file__).resolve().parent.parent
PROFILES = ROOT / "docs/measurements/profiles-2026-11-30.json"
PICTURE = ROOT / "docs/kernels-roofline.svg"
MEMORY = 4.3e12  # bytes a second, read and write
BURST, SUSTAINED = 790e12, 660e12  # floating-point operations a second
CUBE = 2 * 64**3
KEYS, HEADS = 8192, 64


@dataclass(frozen=True)
class Point:
    """One kernel: its name, its work over its bytes, and its work over its time."""

    name: str
    intensity: float  # operations a byte
    rate: float  # operations a second

    @property
    def roof(self) -> float:
        """What the card allows at this intensity."""
        return min(self.intensity * MEMORY, BURST)


def work_of(workload: str, kernel: str) -> float | None:
    """Floating-point operations of a profiled launch; None for those that are not drawn."""
    if kernel in ("prep", "scan"):
        _, tokens, heads = (int(x) for x in workload.split()[1].split(","))
        return tokens // 64 * heads * CUBE * (24.5 if kernel == "prep" else 16)
    if workload.startswith("prefill"):
        return HEADS * KEYS**2 * (1024.0 if "no rope" in workload else 1088.0)
    if kernel == "split_kv":
        return 2.0 * int(workload.split("=")[1]) * HEADS * KEYS * 1088
    return None


def points(profiles: Sequence[dict[str, Any]]) -> list[Point]:
    """What is drawn, in the profiles' order; the launches of the two-kernel form are one point."""
    found = []
    for row in profiles:
        work = work_of(row["workload"], row["kernel"])
        if work is not None:
            name = f"{row['kernel']} {row['workload'].removeprefix('kda ').removeprefix('prefill ')}"
            found.append(point(name.replace("split_kv ", ""), work, [row]))
    slabs = [row for row in profiles if row["workload"].startswith("two-kernel")]
    return [*found, point("two-kernel causal no rope", work_of("prefill causal no rope", "") or 0.0, slabs)]


def point(name: str, work: float, launches: Sequence[dict[str, Any]]) -> Point:
    moved = sum(row["dram_read_bytes"] + row["dram_write_bytes"] for row in launches)
    return Point(name, work / moved, work / (sum(row["us"] for row in launches) * 1e-6))


LEFT, TOP, WIDTH, HEIGHT = 70, 20, 620, 360
X_RANGE, Y_RANGE = (20.0, 10000.0), (50e12, 1000e12)


def x_of(intensity: float) -> float:
    low, high = map(math.log, X_RANGE)
    return LEFT + WIDTH * (math.log(intensity) - low) / (high - low)


def y_of(rate: float) -> float:
    low, high = map(math.log, Y_RANGE)
    return TOP + HEIGHT * (1 - (math.log(rate) - low) / (high - low))


def line(x0: float, y0: float, x1: float, y1: float, style: str) -> str:
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" {style}/>'


def text(x: float, y: float, words: str, anchor: str = "start", size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{words}</text>'


def axes() -> list[str]:
    parts = []
    for intensity in (20, 50, 100, 200, 500, 1000, 2000, 5000, 10000):
        parts.append(line(x_of(intensity), TOP, x_of(intensity), TOP + HEIGHT, 'stroke="#ddd"'))
        parts.append(text(x_of(intensity), TOP + HEIGHT + 15, str(intensity), "middle"))
    for tera in (50, 100, 200, 500, 1000):
        parts.append(line(LEFT, y_of(tera * 1e12), LEFT + WIDTH, y_of(tera * 1e12), 'stroke="#ddd"'))
        parts.append(text(LEFT - 6, y_of(tera * 1e12) + 4, str(tera), "end"))
    parts.append(text(LEFT + WIDTH / 2, TOP + HEIGHT + 34, "operations a byte of device memory", "middle", 12))
    middle = TOP + HEIGHT / 2
    parts.append(f'<g transform="rotate(-90 18 {middle})">{text(18, middle, "TFLOP/s", "middle", 12)}</g>')
    return parts


def roofs() -> list[str]:
    knee = BURST / MEMORY
    bold = 'stroke="#333" stroke-width="2"'
    return [
        line(x_of(X_RANGE[0]), y_of(X_RANGE[0] * MEMORY), x_of(knee), y_of(BURST), bold),
        line(x_of(knee), y_of(BURST), x_of(X_RANGE[1]), y_of(BURST), bold),
        line(x_of(SUSTAINED / MEMORY), y_of(SUSTAINED), x_of(X_RANGE[1]), y_of(SUSTAINED), 'stroke="#999"'),
        text(x_of(32), y_of(32 * MEMORY) - 12, "4.3 TB/s", "end"),
        text(x_of(X_RANGE[1]), y_of(BURST) - 5, "790 TFLOP/s, after an idle", "end"),
        text(x_of(X_RANGE[1]), y_of(SUSTAINED) + 13, "660, sustained", "end"),
    ]


def drawing(found: Sequence[Point]) -> str:
    """The picture as SVG text; kernels are numbered and named below the axes."""
    parts = [*axes(), *roofs()]
    rows = -(-len(found) // 2)
    for n, one in enumerate(found, 1):
        x, y = x_of(one.intensity), y_of(one.rate)
        # neighbours' numbers go to different sides
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#0a6"/>')
        down = 14 if n % 3 else -6
        parts.append(text(x + 7 if n % 2 else x - 7, y + down, str(n), "start" if n % 2 else "end"))
        column, at = divmod(n - 1, rows)
        words = f"{n}  {one.name}: {one.rate / 1e12:.0f} TFLOP/s, {one.rate / one.roof:.0%} of its roof"
        parts.append(text(LEFT + column * 320, TOP + HEIGHT + 60 + 17 * at, words))
    height = TOP + HEIGHT + 70 + 17 * rows
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="720" height="{height}" fill="#fff"/>', *parts, "</svg>", ""])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.kernel_roofline")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    found = points(json.loads(PROFILES.read_text())["rows"])
    PICTURE.write_text(drawing(found))
    rows = [
        {"kernel": p.name, "flop_per_byte": p.intensity, "tflops": p.rate / 1e12, "of_roof": p.rate / p.roof}
        for p in found
    ]
    return show("headway.bench.kernel-roofline/1", rows, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
