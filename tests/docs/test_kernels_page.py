"""docs/kernels.md says what the measurements say, and its picture is the one the command draws."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks import kernel_roofline

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "kernels.md").read_text()


def measured(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((DOCS / f"measurements/{name}-2026-11-30.json").read_text())["rows"]
    return rows


def table_row(first_cell: str) -> list[str]:
    found = [line for line in PAGE.splitlines() if line.startswith(f"| {first_cell}")]
    assert len(found) == 1, first_cell
    return [cell.strip() for cell in found[0].strip("|").split("|")]


def numbers(cell: str) -> list[float]:
    return [float(x) for x in re.findall(r"\d+(?:\.\d+)?", cell)]


def agrees(said: float, found: float) -> bool:
    return abs(said - found) <= 0.006 * found  # three digits


KDA = sorted({",".join(map(str, row["shape"])) for row in measured("kda-against-fla-all-shapes")})


@pytest.mark.parametrize("shape", KDA)
def test_kda_figures_are_those_of_the_worst_regime(shape: str) -> None:
    cells = table_row(shape)
    rows = [r for r in measured("kda-against-fla-all-shapes") if ",".join(map(str, r["shape"])) == shape]
    assert {row["regime"] for row in rows} == {"registry", "strong", "slow", "mixed"}
    worst = min(rows, key=lambda row: row["gpu_ratio"]["median"])
    found = [worst["fla"]["gpu"]["median_ms"], worst["headway"]["gpu"]["median_ms"], worst["gpu_ratio"]["median"]]
    for cell, value in zip(cells[1:4], found, strict=True):
        assert agrees(numbers(cell)[0], value), (cell, value)
    raw = [r for r in measured("kda-against-flashkda") if ",".join(map(str, r["shape"])) == shape]
    theirs, ours = numbers(cells[4])
    assert agrees(theirs, raw[0]["flashkda"]["gpu"]["median_ms"])
    assert agrees(ours, raw[0]["headway"]["gpu"]["median_ms"])


@pytest.mark.parametrize(
    ("row", "workload"),
    [
        ("causal, no rope", "b1-s8192-h64-norope-causal-normal"),
        ("causal, rope 64", "b1-s8192-h64-rope-causal-normal"),
        ("full, no rope", "b1-s8192-h64-norope-full-normal"),
        ("full, rope 64", "b1-s8192-h64-rope-full-normal"),
    ],
)
def test_prefill_figures_are_those_measured(row: str, workload: str) -> None:
    median = {
        (r["variant"], r["mode"]): r["median"] for r in measured("mla-paired-prefill") if r.get("workload") == workload
    }
    variants = ("torch fp32 softmax", "torch compile", "flashmla", "fa3", "two-kernel", "gluon")
    cells = table_row(row)
    for cell, variant in zip(cells[1:7], variants, strict=True):
        if cell != "-":
            assert agrees(numbers(cell)[0], median[variant, "burst"]), (variant, cell)
    sustained = [median[v, "sustained"] for v in ("gluon", "flashmla", "fa3") if (v, "sustained") in median]
    assert all(agrees(a, b) for a, b in zip(numbers(cells[7]), sustained, strict=True))


@pytest.mark.parametrize("batch", [1, 8, 32, 128])
def test_decode_figures_are_those_measured(batch: int) -> None:
    workload = f"b{batch}-s8192-h64-rope-normal"
    median = {r["variant"]: r["median"] for r in measured("mla-paired-decode") if r.get("workload") == workload}
    cells = table_row(f"B = {batch} ")
    for cell, variant in zip(cells[1:6], ("torch bmm", "flashmla", "fa3", "plain", "gluon"), strict=True):
        assert agrees(numbers(cell)[0], median[variant]), (variant, cell)
    assert agrees(numbers(cells[6])[0], max(median["gluon / flashmla"], median["gluon / fa3"]))


def test_the_picture_is_the_one_the_command_draws() -> None:
    drawn = kernel_roofline.drawing(kernel_roofline.points(measured("profiles")))
    assert drawn == (DOCS / "kernels-roofline.svg").read_text()


def test_no_kernel_is_above_its_roof() -> None:
    assert all(0 < point.rate <= 1.01 * point.roof for point in kernel_roofline.points(measured("profiles")))
