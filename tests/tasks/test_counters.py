"""What ncu wrote on an H200, read; and the sentences where it could not."""

from pathlib import Path

import pytest

from benchmarks.kernel_counters import _why_not, advices, rows
from headway.tune.measure.digest import occupancy

CSV = Path(__file__).parents[2] / "docs/measurements/ncu-softmax-2026-12-01.csv"


def test_a_kernel_is_a_row_of_what_its_counters_say() -> None:
    (row,) = rows(CSV.read_text().splitlines())
    assert row["kernel"] == "softmax_kernel"
    assert (row["us"], row["DRAM %"], row["registers"], row["GB/s"]) == (63.49, 79.71, 34.0, 3832.98)


def test_occupancy_from_registers_is_what_the_profiler_says_is_possible() -> None:
    (row,) = rows(CSV.read_text().splitlines())
    assert 100 * occupancy({"registers": 34, "num_warps": 8, "shared": 32}) == row["possible %"]


def test_why_warps_wait_is_told_with_what_mending_it_could_gain() -> None:
    told = list(advices(CSV.read_text().splitlines()))
    assert len(told) == 6
    assert any("CPIStall (at most 20.29 %)" in one and "17.0 cycles" in one for one in told)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (["==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"], "the driver keeps counters"),
        (["there is no ncu here"], "there is no ncu here"),
        ([], "ncu said nothing"),
        (['"ID","Kernel Name"'], ""),
    ],
)
def test_what_could_not_be_profiled_says_why(said: list[str], why: str) -> None:
    found = _why_not(said)
    assert found.startswith(why) and bool(found) == bool(why)
