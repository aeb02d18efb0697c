"""The spool: a folder of job and result files that any number of workers drain. Nothing in it depends on clocks.

`jobs/<key>/` appears by one rename. A worker owns a job while it holds `claims/<key>.<n>`; it takes over from a dead
owner by creating number n + 1, which only one worker can. `results/<key>.json` is linked into place whole, once.
"""

import contextlib
import hashlib
import json
import os
import shutil
import threading
import time
import uuid
from pathlib import Path
from typing import Any, NamedTuple

MOST_OWNERS = 3
"""A job whose third owner died too is answered `could_not_run`: it would take every worker down."""
BEAT_SECONDS = 2.0
SILENT_SECONDS = 20.0


class Claim(NamedTuple):
    """This worker's hold on one job."""

    key: str
    number: int
    path: Path


class Spool:
    """One worker's view of the folder. It keeps its own time for how long another one's beat stood still."""

    def __init__(self, folder: Path) -> None:
        self._jobs, self._claims, self._results = folder / "jobs", folder / "claims", folder / "results"
        for one in (self._jobs, self._claims, self._results):
            one.mkdir(parents=True, exist_ok=True)
        self._stop = folder / "stop"
        self._me = uuid.uuid4().hex
        self._seen: dict[Path, tuple[int, float]] = {}
        self._mine: dict[Path, int] = {}
        """Each claim's beat."""
        self._lock = threading.Lock()
        threading.Thread(target=self._keep_beating, daemon=True).start()

    def stopped(self) -> bool:
        """Someone put a file named `stop` into the folder."""
        return self._stop.exists()

    def folder_of(self, claim: Claim) -> Path:
        """Where the job's files are."""
        return self._jobs / claim.key

    def kind_of(self, key: str) -> str:
        """Kind and id of a job's task, "" if it cannot be read: jobs of one task may be prepared together."""
        try:
            task = json.loads((self._jobs / key / "job.json").read_bytes())["task"]
            return f"{task['kind']} {task['id']}"
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def take(self, kind: str = "") -> Claim | None:
        """The oldest job that nobody does (of that kind), claimed; None if there is none just now."""
        for key in self._waiting():
            if kind and self.kind_of(key) != kind:
                continue
            numbers = self._numbers(key)
            last = max(numbers, default=0)
            if last and not self._abandoned(self._claims / f"{key}.{last}"):
                continue
            claim = self._claim(key, last + 1)
            if claim is None:
                continue
            if (self._results / f"{key}.json").exists():
                self.release(claim)
                continue
            if last >= MOST_OWNERS:
                message = f"{last} workers ended while they did this job."
                self.finish(claim, without_figures(key, "infrastructure", message, "Look at it alone."))
                continue
            return claim
        return None

    def _waiting(self) -> list[str]:
        found = []
        with os.scandir(self._jobs) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # its result has just been collected, and it is gone
                    if not entry.name.startswith("."):
                        found.append((entry.stat().st_mtime_ns, entry.name))
        return [key for _, key in sorted(found) if not (self._results / f"{key}.json").exists()]

    def _numbers(self, key: str) -> list[int]:
        prefix = f"{key}."
        names = [one.name[len(prefix) :] for one in self._claims.iterdir() if one.name.startswith(prefix)]
        return [int(name) for name in names if name.isdigit()]

    def _claim(self, key: str, number: int) -> Claim | None:
        claim = Claim(key, number, self._claims / f"{key}.{number}")
        with self._lock:
            if not _place_once(claim.path, self._owner(0)):
                return None
            self._mine[claim.path] = 0
        return claim

    def _owner(self, beat: int) -> bytes:
        who = {
            "worker": self._me,
            "pid": os.getpid(),
            "start": _started(os.getpid()),
            "boot": _boot(),
            "beat": beat,
        }
        return json.dumps(who).encode()

    def _abandoned(self, path: Path) -> bool:
        """Its process is gone (same boot of the same machine), or its beat stood still on our own clock."""
        try:
            owner = json.loads(path.read_bytes())
            if owner["boot"] == _boot() and owner["boot"]:
                return bool(
                    (owner["worker"] == self._me and path not in self._mine)
                    or _started(int(owner["pid"])) != owner["start"]
                )
            beat = int(owner["beat"])
        except FileNotFoundError:
            return True
        except (ValueError, KeyError, TypeError):
            beat = -1  # torn: judged by standing still, like any other
        last, since = self._seen.get(path, (None, 0.0))
        if last != beat:
            self._seen[path] = (beat, time.monotonic())
            return False
        return time.monotonic() - since > SILENT_SECONDS

    def _keep_beating(self) -> None:
        while True:
            time.sleep(BEAT_SECONDS)
            with self._lock:
                for path in self._mine:
                    if path.exists():
                        self._mine[path] += 1
                        _write_over(path, self._owner(self._mine[path]))

    def finish(self, claim: Claim, result: dict[str, Any]) -> bool:
        """Put the result in place; False if one was there already, which then counts."""
        body = sealed(result)
        first = _place_once(self._results / f"{claim.key}.json", body)
        self.release(claim)
        return first

    def release(self, claim: Claim) -> None:
        """Give the job back (or away)."""
        with self._lock:
            self._mine.pop(claim.path, None)
            for number in range(1, claim.number + 1):
                (self._claims / f"{claim.key}.{number}").unlink(missing_ok=True)


def sealed(result: dict[str, Any]) -> bytes:
    """A result with the digest of its own content, so that a torn or edited file is known as such."""
    plain = json.dumps(result, sort_keys=True)
    return json.dumps({"digest": hashlib.sha256(plain.encode()).hexdigest(), "result": result}, sort_keys=True).encode()


def _place_once(path: Path, body: bytes) -> bool:
    """Create `path` whole, durable, and only if it is not there."""
    temporary = path.parent / f".{path.name}.{uuid.uuid4().hex}"
    _write_durably(temporary, body)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links: exclusive creation, then rename over it
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        shutil.copyfile(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def _write_over(path: Path, body: bytes) -> None:
    temporary = path.parent / f".{path.name}.{uuid.uuid4().hex}"
    temporary.write_bytes(body)
    temporary.replace(path)


def _write_durably(path: Path, body: bytes) -> None:
    with path.open("wb") as file:
        file.write(body)
        file.flush()
        os.fsync(file.fileno())


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> str:
    """When the process began, in the kernel's ticks: tells a process from a later one with its number."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def without_figures(key: str, code: str, message: str, advice: str) -> dict[str, Any]:
    """The result of a job about which nothing could be decided."""
    told = {"code": code, "message": message, "next": advice}
    return {
        "schema": "headway.worker-result/1", "key": key, "outcome": "could_not_run", "refusal": told, "cases": [],
        "samples": [], "estimate": False, "compile": {}, "profile": "", "sandbox": [], "machine": {}, "seconds": {},
        "output": "",
    }  # fmt: skip
