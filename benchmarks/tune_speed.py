"""What the tune runtime costs: events, contexts, resume, and bytes per attempt, at growing length.

    python -m benchmarks.tune_speed [--json] [--calls 100,1000,10000]

A scripted campaign (the marathon's agent and worker, which take no time) is driven on the real log and blobs. `resume`
is what a new process needs from opening the log to its next agent call, imports not counted. The bytes are those of
log and blobs together, as they lie on the disk, without the worker's folder.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.marathon import CONTEXT_BUDGET, DAY, ID, START, drive
from benchmarks.table import Row, show
from benchmarks.tune_world import world_task
from headway.adapters.clocks import HandClock
from headway.adapters.file_blobs import FileBlobs
from headway.adapters.sqlite_log import SqliteLog
from headway.core.events_tune import BudgetSet
from headway.tune.campaign import CachedTexts, go_on, home_of, read
from headway.tune.context import Renderer
from headway.tune.evidence import text_of

REPEATS = 5


def rows(lengths: list[int]) -> Iterator[Row]:
    """One row a length; the campaign grows from one to the next."""
    with tempfile.TemporaryDirectory(prefix="headway-tune-speed-") as name:
        folder, before = Path(name), 0
        for calls in lengths:
            began = time.perf_counter()
            grow(folder, calls)
            took = time.perf_counter() - began
            yield {"tool calls": calls, "ms per call": 1000 * took / (calls - before), **measure(folder)}
            before = calls


def grow(folder: Path, calls: int) -> None:
    """Drive the campaign until it has used `calls` tool calls."""
    log = SqliteLog(folder / "log.sqlite3", HandClock(START))
    if log.heads(home_of(ID)):
        go_on(log, ID, "benchmark", BudgetSet(None, calls, None, None, None, None))
    log.close()
    drive(folder, calls, DAY / 10_000, nap=0.0)


def measure(folder: Path) -> dict[str, Any]:
    """Resume, context and size of the campaign as it stands."""
    began, spent = time.perf_counter(), time.process_time()
    log = SqliteLog(folder / "log.sqlite3", HandClock(START), read_only=True)
    blobs = FileBlobs(folder / "blobs")
    state = read(log, ID)
    assert state.goal is not None
    renderer = Renderer(world_task(Path("world")), text_of(blobs, state.goal.goal), CachedTexts(blobs), CONTEXT_BUDGET)
    shown = renderer.render(state)
    resume, processor = time.perf_counter() - began, time.process_time() - spent
    began = time.perf_counter()
    for _ in range(REPEATS):
        renderer.render(state)
    render = (time.perf_counter() - began) / REPEATS
    events = log.heads(home_of(ID))[home_of(ID)]
    log.close()
    log_bytes = sum(p.stat().st_size for p in folder.glob("log.sqlite3*"))
    blob_bytes = sum(p.stat().st_size for p in (folder / "blobs").rglob("*") if p.is_file())
    return {
        "attempts": len(state.attempts),
        "events": events,
        "resume s": resume,
        "resume cpu s": processor,
        "context ms": 1000 * render,
        "context tokens": shown.tokens,
        "KiB per attempt": (log_bytes + blob_bytes) / 1024 / max(len(state.attempts), 1),
        "log bytes per event": log_bytes / events,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--calls", default="100,1000,10000")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    return show("headway.tune-speed/1", list(rows([int(n) for n in options.calls.split(",")])), as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
