"""How well the lab's GPU timing repeats, and how far it lies from `triton.testing.do_bench`.

`python -m benchmarks.lab_timing [--processes 10] [--blocks 4] [--json]` on a GPU: each task's own baseline against
itself, in as many pairs of fresh runner processes; and by do_bench in a process of its own, before and after. Of the
variants of do_bench each adds one thing that the lab does and do_bench does not, so that a difference has a cause.
"""

import argparse
import importlib.util
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.table import could_not_run, show
from headway.adapters.spool_worker import SpoolWorker
from headway.core.ports.worker import WorkerJob
from headway.worker import device
from headway.worker.calls import Candidate
from headway.worker.jobs import Case, Job, read_job
from headway.worker.judge import Judge
from headway.worker.oracle import Tolerance
from headway.worker.refusals import CouldNotRun, Refused
from headway.worker.session import Session
from headway.worker.trips import POOL_LEAST
from headway.worker.triton_trips import LEAD_CYCLES, OnDevice

TASKS = Path(__file__).resolve().parent.parent / "src/headway/tasks"
FOLDERS = {
    "softmax": TASKS / "softmax",
    "matmul-epilogue": TASKS / "matmul_epilogue",
    "causal-attention": TASKS / "causal_attention",
    "mla-decode": TASKS / "mla_decode/task",
}
BOUND_BY_MEMORY = frozenset({"softmax", "mla-decode"})
ANY = Tolerance(float("inf"), float("inf"))
ROUNDS = 7


def main() -> int:
    """Exit code 4 without a GPU."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--processes", type=int, default=10)
    asked.add_argument("--blocks", type=int, default=4)
    asked.add_argument("--json", action="store_true")
    asked.add_argument("--peer", action="store_true", help="only do_bench, as JSON")
    chosen = asked.parse_args()
    if not device.present():
        sys.stderr.write("could not run: there is no GPU here\n")
        return 4
    if chosen.peer:
        sys.stdout.write(json.dumps({name: dict(_peer(folder)) for name, folder in FOLDERS.items()}) + "\n")
        return 0
    peers = [_peer_process()]
    sys.stderr.write(json.dumps(peers) + "\n")
    found = _lab(chosen.processes, chosen.blocks)
    peers.append(_peer_process())
    rows = [
        _row(name, found[name], [one[name] for one in peers])
        if found[name]
        else could_not_run(name, "the lab refused it; see above")
        for name in FOLDERS
    ]
    sys.stderr.write(json.dumps({"peers": peers, "lab": found}) + "\n")
    return show("headway.lab-timing/1", rows, as_json=chosen.json)


def _row(name: str, lab: list[dict[str, float]], peers: list[dict[str, float]]) -> dict[str, Any]:
    ratios = [one["candidate"] / one["rival"] for one in lab]
    times = [one["candidate"] for one in lab]
    here = statistics.median(times)
    there = statistics.median(one["do_bench, median"] for one in peers)
    return {
        "task": name,
        "lab us": round(here * 1e6, 2),
        "processes apart %": round(100 * (max(times) / min(times) - 1), 2),
        "paired ratio": round(statistics.median(ratios), 4),
        "least": round(min(ratios), 4),
        "most": round(max(ratios), 4),
        "must +- %": 1 if name in BOUND_BY_MEMORY else 2,
        "do_bench us": round(there * 1e6, 2),
        "lab / do_bench": round(here / there, 4),
    }


# --- the lab: fresh runners, the judge's own batches


def _lab(processes: int, blocks: int) -> dict[str, list[dict[str, float]]]:
    judge = Judge()
    found: dict[str, list[dict[str, float]]] = {name: [] for name in FOLDERS}
    with tempfile.TemporaryDirectory() as spool, device.lock(), ThreadPoolExecutor(8) as threads:
        jobs = {name: _job(Path(spool), name, folder, blocks) for name, folder in FOLDERS.items()}
        judge.reserve(2 * processes, "device")
        sessions = [judge._spare["device"].pop() for _ in range(2 * processes)]
        list(threads.map(lambda one: one.enter(["torch", "triton"]), sessions))
        sys.stderr.write(f"{len(sessions)} runners are ready\n")
        for number, pair in enumerate(zip(sessions[::2], sessions[1::2], strict=True)):
            for name, job in jobs.items():
                try:
                    found[name].append(_measured(judge, job, pair, number < 3))
                except (Refused, CouldNotRun) as trouble:
                    sys.stderr.write(f"{name}: {trouble}\n")
            for one in pair:
                one.close()
            sys.stderr.write(f"pair {number}: " + json.dumps({name: rows[-1:] for name, rows in found.items()}) + "\n")
    judge.close()
    return found


def _job(spool: Path, name: str, folder: Path, blocks: int) -> Job:
    source = (folder / "baseline.py").read_text()
    SpoolWorker(spool).submit(WorkerJob(name, folder, source, "screen", seed=1, pairs=blocks, seconds=3600))
    return read_job(spool / "jobs" / name)


def _measured(judge: Judge, job: Job, pair: tuple[Session, Session], bare: bool) -> dict[str, float]:
    """Medians of both sides, in seconds; `bare`: and with launches not hidden, as the lab once had it."""
    case = next((one for one in job.task.cases if one.screen), next(one for one in job.task.cases if one.timed))
    if "inputs" in job.task.raw["files"]:
        return _drawn(judge, job, pair, case)
    trip: Any = OnDevice(judge, job)
    trip._tolerance = {case.name: ANY}
    inputs = [trip._reference.inputs(case, seed) for seed in range(2)]
    trip._inputs = lambda _: inputs[0]
    sides = []
    for one in pair:
        candidate = Candidate(job.task, trip._reference, one, 1)
        candidate.load(job.candidate, None, [], max(POOL_LEAST, 3 * trip._room(case)))
        sides.append(device.Batches(job.task, trip._reference, candidate, trip_rng()))
        sides[-1].trusted, sides[-1].lead = True, LEAD_CYCLES
    trip._ours = sides[0].candidate
    found = _medians(trip._timed(case, sides))
    if bare:
        for side in sides:
            side.lead = 0
        found["launches not hidden"] = _medians(trip._timed(case, sides))["candidate"]
    return found


def _drawn(judge: Judge, job: Job, pair: tuple[Session, Session], case: Case) -> dict[str, float]:
    from headway.worker.drawn_trips import Loaded, OnDeviceDrawn

    trip: Any = OnDeviceDrawn(judge, job)
    trip._tolerance = {case.name: ANY}
    loaded = []
    for one in pair:
        one.order({"do": "draws", "source": trip._reference.source}, 20)
        candidate = Candidate(job.task, trip._reference, one, 1)
        candidate.load(job.candidate, None, [], 1 << 20)
        loaded.append(Loaded(job.task, candidate, trip._reference))
        loaded[-1].batches.trusted = True
        loaded[-1].batches.run(_seeds(case), device.LEAST_CALLS, False, 120)  # compiles
    trip._ours = loaded[0].candidate
    return _medians(trip._timed(case, *loaded))


def _seeds(case: Case) -> Any:
    from headway.worker.drawn import Seeds

    return Seeds(case, 7)


def trip_rng() -> Any:
    """A generator for what batches leave to chance."""
    import numpy

    return numpy.random.default_rng()


def _medians(timed: Any) -> dict[str, float]:
    return {"candidate": statistics.median(timed.candidate), "rival": statistics.median(timed.rival)}


# --- do_bench, and what the lab adds to it one by one


def _peer_process() -> dict[str, dict[str, float]]:
    done = subprocess.run([sys.executable, "-m", "benchmarks.lab_timing", "--peer"], capture_output=True, text=True,
                          timeout=300, check=True)  # fmt: skip
    found: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return found


def _peer(folder: Path) -> Iterator[tuple[str, float]]:
    """Seconds a call."""
    import torch
    from triton.testing import do_bench

    entry, make = _module(folder / "baseline.py").entry, _maker(folder)
    sets = [make(seed) for seed in (0,)]
    call = lambda: entry(*sets[0])  # noqa: E731
    for mode in ("median", "mean"):
        yield f"do_bench, {mode}", do_bench(call, return_mode=mode) / 1e3
    first = do_bench(call) / 1e3
    count = max(4, min(48, int(0.004 / first)))
    scales = [0.6 + 0.8 * i / count for i in range(count)]
    many = [[_scaled(one, scale) for one in sets[0]] for scale in scales]
    flush = torch.empty(64 << 20, dtype=torch.int32, device="cuda")
    same = [sets[0]] * count
    for name, chosen, keep, glimpse, lead in (
        ("one set", same, False, False, 0),
        ("many sets", many, False, False, 0),
        ("many sets, outputs kept", many, True, False, 0),
        ("many sets, outputs kept, glimpses", many, True, True, 0),
        ("one set, lead", same, False, False, LEAD_CYCLES),
        ("many sets, outputs kept, lead", many, True, False, LEAD_CYCLES),
        ("one set again", same, False, False, 0),
    ):
        _loop(entry, chosen, keep, glimpse, lead, flush)
        yield name, statistics.median(_loop(entry, chosen, keep, glimpse, lead, flush) for _ in range(ROUNDS))


def _loop(entry: Callable[..., Any], sets: list[Any], keep: bool, glimpse: bool, lead: int, flush: Any) -> float:
    import torch

    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in sets]
    places, kept = torch.arange(32, device="cuda"), []
    torch.cuda.synchronize()
    for arguments, (start, end) in zip(sets, events, strict=True):
        flush.zero_()
        if lead:
            torch.cuda._sleep(lead)
        start.record()
        result = entry(*arguments)
        end.record()
        if glimpse:
            kept.append(torch.take(result.detach(), places % result.numel()))
        if keep:
            kept.append(result)
        del result
    torch.cuda.synchronize()
    return float(statistics.mean(start.elapsed_time(end) for start, end in events)) / 1e3


def _maker(folder: Path) -> Callable[[int], list[Any]]:
    import tomllib

    import torch

    task = tomllib.loads((folder / "task.toml").read_text())
    timed = [one for one in task["cases"] if one.get("timed")]
    case = next((one for one in timed if one.get("screen")), timed[0])
    if "inputs" in task["files"]:
        make = _module(folder / task["files"]["inputs"]).make_inputs
        return lambda seed: list(make(case, seed, "cuda").values())
    make = _module(folder / "reference.py").make_inputs
    return lambda seed: [torch.from_numpy(one).cuda() for one in make(case, seed).values()]


def _scaled(one: Any, scale: float) -> Any:
    return (one.float() * scale).to(one.dtype) if one.is_floating_point() else one


def _module(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(f"peer_{path.parent.name}_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    raise SystemExit(main())
