"""The worker port across a gap: jobs leave in one tar, results come back in one, and nobody waits in between.

A job whose result is not there raises `ResultsMissing`; the campaign stands where it is, and goes on from its log once
the results have been taken in. What comes in is data from a machine that may be anywhere: only sealed results of jobs
that went out are taken, each once.
"""

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.spool_worker import SpoolWorker, opened
from headway.core.errors import HeadwayError
from headway.core.ports.worker import WorkerJob, WorkerResult

MOST_BYTES = 64 << 20
"""Of one result; a larger member of a tar is not read."""
PROGRAM = "worker.pyz"
README = """Jobs of headway, and the worker that does them. On a machine with what `worker.pyz --doctor` asks for:

    python3 worker.pyz --spool . --at-once 16 && tar cf results.tar results

and take results.tar back: `headway tune resume CAMPAIGN --results results.tar`.
"""


class ResultsMissing(Exception):  # no error: a campaign that waits
    """The result of job `key` is needed now and is not there."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


@dataclass(frozen=True)
class TakenIn:
    """What a tar of results held."""

    accepted: int
    known: int
    """Results of jobs that have one already: the first one counts."""
    strange: int
    """Results of no job that waits here, and files that are no results."""
    torn: int
    """Results that do not match their own digest."""


class OfflineWorker:
    """A spool folder that no worker drains here."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._spool = SpoolWorker(folder)

    def submit(self, job: WorkerJob) -> None:
        """As the port says."""
        self._spool.submit(job)

    def collect(self, key: str, wait_seconds: float) -> WorkerResult | None:
        """The result. Raises ResultsMissing where it is not there; there is no use in waiting."""
        result = self._spool.collect(key, 0.0)
        if result is None:
            raise ResultsMissing(key)
        return result

    def close(self) -> None:
        """Nothing runs here."""

    def waiting(self) -> list[str]:
        """Keys of the jobs without a result, oldest first."""
        jobs = [one for one in (self.folder / "jobs").iterdir() if not one.name.startswith(".")]
        ordered = sorted(jobs, key=lambda one: (one.stat().st_mtime_ns, one.name))
        return [one.name for one in ordered if not self._result(one.name).exists()]

    def pack(self, target: Path, program: bytes) -> int:
        """Write the waiting jobs and the worker into a new tar; how many jobs. Raises HeadwayError if it cannot be."""
        keys = self.waiting()
        partial = target.with_name(f".{target.name}.partial")
        try:
            with tarfile.open(partial, "w") as tar:
                _add(tar, PROGRAM, program, 0o755)
                _add(tar, "README.txt", README.encode(), 0o644)
                for key in keys:
                    tar.add(self.folder / "jobs" / key, f"jobs/{key}", filter=_nobodys)
            partial.replace(target)
        except OSError as trouble:
            partial.unlink(missing_ok=True)
            raise HeadwayError(f"The jobs cannot be written to {target}: {trouble}.", "Name a writable file.") from None
        return len(keys)

    def take_in(self, source: Path) -> TakenIn:
        """Put the tar's results in place. Raises HeadwayError if it is none."""
        counts = {"accepted": 0, "known": 0, "strange": 0, "torn": 0}
        try:
            with tarfile.open(source) as tar:
                for member in tar:
                    if member.isfile():
                        counts[self._take(tar, member)] += 1
        except (OSError, tarfile.TarError, EOFError) as trouble:
            raise HeadwayError(f"{source} is no tar of results: {trouble}.", "Pack the folder results again.") from None
        return TakenIn(**counts)

    def _take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> str:
        name = Path(member.name).name
        key = name.removesuffix(".json")
        if name == key or "results" not in Path(member.name).parts or member.size > MOST_BYTES:
            return "strange"
        if self._result(key).exists():
            return "known"
        if not (self.folder / "jobs" / key / "job.json").is_file():
            return "strange"
        file = tar.extractfile(member)
        body = b"" if file is None else file.read()
        if opened(body, key) is None:
            return "torn"
        partial = self._result(key).with_suffix(".partial")
        partial.write_bytes(body)
        partial.replace(self._result(key))
        return "accepted"

    def _result(self, key: str) -> Path:
        return self.folder / "results" / f"{key}.json"


def _add(tar: tarfile.TarFile, name: str, body: bytes, mode: int) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(body), mode
    tar.addfile(info, io.BytesIO(body))


def _nobodys(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Nothing of this machine: no owner, no name."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info
