"""`tune run --offline` and `tune resume --results`: a campaign whose worker is on a machine that cannot be reached."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.offline_worker import OfflineWorker, ResultsMissing, TakenIn
from headway.adapters.task_files import load_task
from headway.core.errors import HeadwayError
from headway.tune.campaign import settings_of
from headway.tune.state import Campaign
from headway.wiring.lab import pack_worker
from headway.wiring.state import open_state
from headway.wiring.tune import Place, drive


@dataclass(frozen=True)
class Offline:
    """How far it went. `state` None: it waits for results, and `jobs` of them went into the tar."""

    state: Campaign | None
    jobs: int
    taken: TakenIn | None


def drive_offline(place: Place, out: Path, results: Path | None, watch: Callable[[Campaign], None]) -> Offline:
    """Take results in, go on as far as they reach, and pack the jobs that are needed next into `out`.

    Raises HeadwayError for a tar that is none, and, before anything runs, for an `out` that cannot be written.
    """
    if not out.parent.is_dir():
        raise HeadwayError(f"The folder of {out} does not exist.", "Make it, or name another file.")
    with open_state(place.state, read_only=True) as opened:
        task = load_task(Path(settings_of(opened.log, place.id)[1].task_dir))
    if task.kind == "command":
        raise HeadwayError(f"The task {task.id} runs its command here; no packed worker does.", "Drop --offline.")
    worker = OfflineWorker(place.state / "offline")
    taken = worker.take_in(results) if results is not None else None
    try:
        return Offline(drive(place, watch, worker), 0, taken)
    except ResultsMissing:
        return Offline(None, worker.pack(out, _program()), taken)


def _program() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "worker.pyz"
        pack_worker(path)
        return path.read_bytes()


def words(found: Offline, out: Path) -> list[str]:
    """What a person should know."""
    lines = []
    if (taken := found.taken) is not None:
        lines.append(
            f"results: {taken.accepted} taken in, {taken.known} known already, {taken.strange} of no job that waits, "
            f"{taken.torn} torn"
        )
    if found.state is None:
        lines.append(f"{found.jobs} jobs and the worker are in {out}; its README says what to run there")
        lines.append("then: headway tune resume --results results.tar --offline jobs.tar")
    return lines
