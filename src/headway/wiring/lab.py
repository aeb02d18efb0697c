"""What `headway tune selftest`, `headway worker` and `headway doctor` call."""

import json
import tempfile
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

from headway.adapters.local_worker import PROGRAM, LocalWorker, worker_in_terminal
from headway.adapters.processes import run
from headway.core.errors import CouldNotRun, HeadwayError
from headway.core.ports.worker import Worker, WorkerJob
from headway.tune.selftest import CONTROL, Entry, Row, Tried, read_entries, row_of, tried

TASKS = Path(__file__).parents[1] / "tasks"
SELFTEST = TASKS / "selftest"
PAIRS = 6
JOB_SECONDS = 90.0
START = b"import sys\nfrom headway_worker.main import main\nsys.exit(main(sys.argv[1:]))\n"
"""`__main__.py` of the packed worker. BLAS threads are limited before numpy is imported, in the package itself."""


def entries() -> tuple[Entry, ...]:
    """The shipped self-test."""
    return read_entries(tomllib.loads((SELFTEST / "selftest.toml").read_text()))


def selftest(keep: Path | None, only: str | None, pairs: int, say: Callable[[str], None]) -> list[Row]:
    """Try every entry (or those whose id or class contains `only`, with their twins) on one warm worker."""
    here = {"", "gpu"} if has_gpu() else {""}
    chosen = _chosen(tuple(entry for entry in entries() if entry.needs in here), only)
    if not chosen:
        raise HeadwayError(f"The self-test has no entry like {only!r}.", "Leave --only out to run all.")
    folder = keep or Path(tempfile.mkdtemp(prefix="headway-selftest-"))
    folder.mkdir(parents=True, exist_ok=True)
    worker = LocalWorker(folder / "spool")
    try:
        rows = list(_rows(worker, chosen, pairs, say))
    finally:
        worker.close()
    (folder / "rows.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return rows


def has_gpu() -> bool:
    """Is there an NVIDIA GPU with its driver on this machine?"""
    try:
        return b"GPU 0" in run(["nvidia-smi", "-L"], ok=None, timeout=20).stdout
    except HeadwayError:
        return False


def _chosen(all_entries: tuple[Entry, ...], only: str | None) -> list[Entry]:
    if only is None:
        return list(all_entries)
    named = [entry for entry in all_entries if only in entry.id or only == entry.kind]
    twins = {entry.twin for entry in named}
    return [entry for entry in all_entries if entry in named or entry.id in twins]


def _rows(worker: Worker, chosen: list[Entry], pairs: int, say: Callable[[str], None]) -> Iterator[Row]:
    seen: dict[str, Tried] = {}
    for number, entry in enumerate(chosen):
        job = WorkerJob(
            key=f"selftest-{number}-{entry.id}",
            task_dir=TASKS / entry.task.replace("-", "_"),
            candidate=(SELFTEST / entry.file).read_text(),
            mode="full",
            seed=number,
            pairs=pairs,
            seconds=JOB_SECONDS,
        )
        worker.submit(job)
        result = worker.collect(job.key, 2 * JOB_SECONDS)
        if result is None:
            raise CouldNotRun(f"The worker gave no answer to {entry.id}.", "See `headway doctor`.")
        found = seen[entry.id] = tried(result)
        row = row_of(entry, found, seen.get(entry.twin or ""))
        wanted = "accepted" if entry.kind == CONTROL else "stopped"
        why = "" if row.ok else f": {found.message}"
        say(f"{'ok ' if row.ok else 'BAD'} {entry.id}: {found.verdict} {found.reason or ''} ({wanted} expected){why}")
        yield row


def run_worker(arguments: list[str]) -> int:
    """The worker itself, in this terminal; its exit code."""
    return worker_in_terminal(arguments)


def pack_worker(target: Path) -> int:
    """Write the worker as one file that any Python from 3.10 on runs; returns its size in bytes."""
    try:
        with target.open("wb") as file:
            file.write(b"#!/usr/bin/env python3\n")
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
                _add(packed, "__main__.py", START)
                for path in sorted(PROGRAM.glob("*.py")):
                    if path.name != "__main__.py":
                        _add(packed, f"headway_worker/{path.name}", path.read_bytes())
        target.chmod(0o755)
    except OSError as trouble:
        raise HeadwayError(
            f"The worker could not be packed into {target}: {trouble}.", "Name a writable file."
        ) from None
    return target.stat().st_size


def _add(packed: zipfile.ZipFile, name: str, body: bytes) -> None:
    """With a fixed date, so that the same sources give the same file."""
    packed.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), body, zipfile.ZIP_DEFLATED)
