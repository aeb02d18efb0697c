"""What Nsight Compute's counters say of a task's own baseline: speed of light, occupancy, why warps wait.

`python -m benchmarks.kernel_counters softmax [--kernel REGEX]` on a GPU whose counters may be read; `--from FILE.csv`
reads what `ncu --csv` wrote elsewhere. The baseline ships with headway and runs without a sandbox here.
Candidates never do: a profiler's own library needs what the sandbox takes away. Exit code 4 says that nothing could be
profiled, and why.
"""

import argparse
import csv
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.lab_timing import FOLDERS
from benchmarks.table import could_not_run, show

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = {
    "us": ("Duration", 1e-3),
    "GB/s": ("Memory Throughput", 1e-9),
    "DRAM %": ("DRAM Throughput", 1.0),
    "L2 %": ("L2 Cache Throughput", 1.0),
    "SM %": ("Compute (SM) Throughput", 1.0),
    "registers": ("Registers Per Thread", 1.0),
    "occupancy %": ("Achieved Occupancy", 1.0),
    "possible %": ("Theoretical Occupancy", 1.0),
    "no warp ready %": ("No Eligible", 1.0),
}
"""Shown name -> ncu's, and what its unit is multiplied by."""
UNIT = {"Memory Throughput": "byte/s"}
"""Two metrics have this name; the one of this unit is meant."""
REFUSED = "ERR_NVGPUCTRPERM"
SECONDS = 300
CALLS = """
import sys
from pathlib import Path
import torch
from benchmarks.lab_timing import _maker, _module
folder = Path(sys.argv[1])
entry, inputs = _module(folder / "baseline.py").entry, _maker(folder)(0)
for _ in range(3):
    entry(*inputs)
torch.cuda.synchronize()
"""


def main() -> int:
    """Print a row for each kernel, and ncu's advice on stderr."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("task", choices=sorted(FOLDERS))
    asked.add_argument("--kernel", default=".*", help="regex of the kernels to profile; else the first that runs")
    asked.add_argument("--from", dest="file", type=Path, help="a CSV that ncu wrote")
    asked.add_argument("--json", action="store_true")
    chosen = asked.parse_args()
    text = chosen.file.read_text() if chosen.file is not None else _profiled(FOLDERS[chosen.task], chosen.kernel)
    lines = text.splitlines()
    if why := _why_not(lines):
        return show("headway.kernel-counters/1", [could_not_run(chosen.task, why)], as_json=chosen.json)
    for advice in advices(lines):
        sys.stderr.write(f"{advice}\n")
    return show("headway.kernel-counters/1", rows(lines), as_json=chosen.json)


def rows(lines: Sequence[str]) -> list[dict[str, str | float]]:
    """One for each profiled kernel, in the order of their launches."""
    found: dict[str, dict[str, str | float]] = {}
    for one in _table(lines):
        row = found.setdefault(one["ID"], {"kernel": one["Kernel Name"][:60]})
        for shown, (name, factor) in COLUMNS.items():
            if one["Metric Name"] == name and one["Metric Unit"] == UNIT.get(name, one["Metric Unit"]):
                row[shown] = round(float(one["Metric Value"].replace(",", "")) * factor, 2)
    return list(found.values())


def advices(lines: Sequence[str]) -> Iterator[str]:
    """Why warps wait and what binds, in ncu's words: its findings with the gain it expects, the largest first."""
    told = [one for one in _table(lines) if one["Rule Type"] == "OPT"]
    told.sort(key=lambda one: -float(one["Estimated Speedup"] or 0))
    for one in told[:6]:
        gain = f" (at most {one['Estimated Speedup']} %)" if one["Estimated Speedup"] else ""
        yield f"{one['Kernel Name'][:40]}, {one['Rule Name']}{gain}: {one['Rule Description'][:260]}"


def _table(lines: Sequence[str]) -> Iterator[Mapping[str, str]]:
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    return csv.DictReader(lines[start:])


def _why_not(lines: Sequence[str]) -> str:
    if any(REFUSED in line for line in lines):
        return "the driver keeps counters for administrators: root, or NVreg_RestrictProfilingToAdminUsers=0"
    if not any(line.startswith('"ID"') for line in lines):
        return lines[-1][:200] if lines else "ncu said nothing"
    return ""


def _profiled(folder: Path, kernel: str) -> str:
    """What ncu says, on stdout or of its own failure. Clocks are left as they are: the card is not ours."""
    if shutil.which("ncu") is None:
        return "there is no ncu here"
    with tempfile.NamedTemporaryFile("w", suffix=".py") as program:
        program.write(CALLS)
        program.flush()
        argv = ["ncu", "--clock-control", "none", "--csv", "--set", "full", "-c", "1", "-k", f"regex:{kernel}"]
        path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run([*argv, sys.executable, program.name, str(folder)], capture_output=True, text=True,
                              timeout=SECONDS, check=False, env={**os.environ, "PYTHONPATH": path})  # fmt: skip
    return done.stdout + done.stderr


if __name__ == "__main__":
    raise SystemExit(main())
