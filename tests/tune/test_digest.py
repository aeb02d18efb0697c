"""What stands beside a figure, and what an agent is told of where the time goes."""

from dataclasses import replace
from typing import Any

import pytest

from headway.adapters.task_files import load_task
from headway.core.ports.worker import Samples, WorkerResult
from headway.core.task import Task
from headway.tune.measure.digest import MOST_BYTES, floors_of, occupancy, profile_of
from headway.tune.measure.roofline import Roof, roof_of, standings
from headway.wiring.lab import TASKS

MACHINE = {"copy_bytes": "4.2e+12", "matrix_flops": "7.8e+14", "launch_seconds": "4.1e-06", "gpu": "NVIDIA H200"}
ROWS = "rows-8192x4096"


@pytest.fixture(scope="module")
def task() -> Task:
    return load_task(TASKS / "softmax")


def kernel(name: str, us: float, **more: Any) -> dict[str, Any]:
    return {"name": name, "microseconds": us, "launches": 1.0, **more}


def result(seconds: float, machine: dict[str, str] = MACHINE, **compile_: Any) -> WorkerResult:
    samples = (Samples(ROWS, (seconds,) * 3, (2 * seconds,) * 3, True, 40, 0.0),)
    return WorkerResult("k", "measured", None, (), samples, False, compile_, "", (), machine, {}, "")


def test_a_memory_bound_case_stands_beside_what_a_copy_takes(task: Task) -> None:
    (at,) = standings(task, result(80e-6).samples, roof_of(MACHINE))
    bytes_ = 8 * 8192 * 4096
    assert at.bound == "memory"
    assert at.floor_seconds == pytest.approx(bytes_ / 4.2e12)
    assert at.achieved == pytest.approx(bytes_ / 4.2e12 / 80e-6)
    (told,) = floors_of(task, result(80e-6))
    assert told["case"] == ROWS and told["launch_seconds"] == 4.1e-6


def test_where_a_launch_takes_a_third_of_a_call_launches_bind(task: Task) -> None:
    quick = Roof(1e18, 1e18, 4e-6)
    (at,) = standings(task, result(9e-6).samples, quick)
    assert (at.bound, at.floor_seconds) == ("launch", 4e-6)


@pytest.mark.parametrize("machine", [{}, {**MACHINE, "copy_bytes": "nonsense"}, {**MACHINE, "matrix_flops": "0"}])
def test_without_measured_rates_nothing_stands_beside_a_figure(task: Task, machine: dict[str, str]) -> None:
    assert roof_of(machine) is None
    assert list(floors_of(task, result(80e-6, machine))) == []
    assert profile_of(task, result(80e-6, machine)) == ""


def test_an_agent_is_told_kernels_needs_and_differences(task: Task) -> None:
    ours = [kernel("fast_rows", 60.0, registers=168, spills=12, shared=64 << 10, num_warps=8), kernel("tail", 20.0)]
    theirs = [kernel("fast_rows", 70.0), kernel("second_pass", 30.0)]
    sides = {"candidate": {"kernels": ours, "how": "proton"}, "rival": {"kernels": theirs, "how": "proton"}}
    tuned = {"candidate": {ROWS: [{"kernel": "fast_rows", "config": "num_warps: 8", "of": 4}]}}
    text = profile_of(task, result(80e-6, profiles={ROWS: sides}, tuned=tuned))
    assert "4.20 TB/s in a copy, 780 TFLOP/s" in text
    assert f"{ROWS}: 80.0 us against the rival's 160.0; floor 63.9 us" in text and "bound by memory" in text
    assert "time by kernel (Proton): 80.0 us in 2" in text
    assert (
        "fast_rows: 60.0 us (75%); 168 registers, 12 bytes spilled, 64 KiB shared, 12% occupancy; rival 70.0 us (-10.0)"
        in text
    )
    assert "only in the rival: second_pass 30.0 us" in text
    assert "fast_rows is tuned to num_warps: 8, of 4" in text


def test_a_profiler_that_could_not_run_says_why(task: Task) -> None:
    sides = {"candidate": {"kernels": None, "could_not_run": "PermissionError: CUPTI"}, "rival": {}}
    assert "time by kernel could not be had: PermissionError: CUPTI" in profile_of(
        task, result(80e-6, profiles={ROWS: sides})
    )


def test_a_digest_has_an_end(task: Task) -> None:
    many = [kernel(f"kernel_{i}_" + "x" * 110, 1.0, registers=32, num_warps=4) for i in range(24)]
    sides = {"candidate": {"kernels": many, "how": "proton"}, "rival": {"kernels": many[::-1], "how": "proton"}}
    text = profile_of(task, result(80e-6, profiles={f"{ROWS}{i}": sides for i in range(40)}))
    assert len(text.encode()) <= MOST_BYTES and text.endswith("(cut)")


def test_held_out_cases_are_not_named(task: Task) -> None:
    hidden = next(case for case in task.cases if case.held_out)
    timed = replace(result(80e-6), samples=(Samples(hidden.name, (8e-5,), (8e-5,), False, 1, 0.0),))
    assert list(floors_of(task, timed)) == []
    assert hidden.name not in profile_of(task, timed)


@pytest.mark.parametrize(
    ("needs", "share"),
    [
        ({"registers": 32, "num_warps": 8}, 1.0),
        ({"registers": 255, "num_warps": 8}, 0.125),
        ({"shared": 200 << 10, "num_warps": 4}, 0.0625),
        ({"registers": 64, "shared": 50 << 10, "num_warps": 4}, 0.25),
    ],
)
def test_occupancy_is_what_registers_and_shared_memory_leave(needs: dict[str, int], share: float) -> None:
    assert occupancy(needs) == share


def test_the_static_profile_says_that_it_is_one(task: Task) -> None:
    def side(registers: int) -> dict[str, Any]:
        one = {"name": "rows", "registers": registers, "num_warps": 4, "shared": 0, "spill_stores": 0, "spill_loads": 8,
               "instructions": {"LDG.E.128": 4, "STG.E.128": 4, "MUFU.EX2": 16, "FADD": 40}}  # fmt: skip
        return {"case": ROWS, "arch": 90, "kernels": {"d": one}, "launches": [{"kernel": "d", "grid": [8192, 1, 1]}]}

    static = replace(result(1e-6, {}, cases=[side(40)], rival=[side(56)]), estimate=True)
    text = profile_of(task, static)
    assert "static (sm_90; no loop counts are known)" in text
    assert "rows; 40 registers, 8 bytes spilled" in text and "rival: 56 registers" in text
    assert "64 instructions (global loads 4, global stores 4, special 16)" in text
