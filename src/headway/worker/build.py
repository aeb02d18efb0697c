"""C candidates: candidate and baseline are built by the same compiler with the same flags, in a closed process."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from . import sandbox
from .c_admission import check_c_source, check_library
from .jobs import Task
from .refusals import CouldNotRun, Refused

FIXED_FLAGS = ("-shared", "-fPIC", "-x", "c")
READABLE = (
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/etc/ld.so.cache",
    "/etc/alternatives",
    "/dev/null",
    "/dev/urandom",
    "/proc",
)


class Builder:
    """Remembers what it built by source, flags and compiler."""

    def __init__(self) -> None:
        self._built: dict[str, bytes] = {}

    def library(self, task: Task, source: str) -> bytes:
        """A shared library's bytes. Refuses what does not compile; could-not-run without a compiler."""
        compiler = shutil.which(str(task.raw.get("build", {}).get("compiler", "cc")))
        if compiler is None:
            raise CouldNotRun("no_compiler", "There is no C compiler (cc) on this machine.", "Install gcc or clang.")
        flags = [str(flag) for flag in task.raw.get("build", {}).get("flags", [])]
        key = hashlib.sha256("\0".join([compiler, *flags, source]).encode()).hexdigest()
        if key not in self._built:
            if len(self._built) > 64:
                self._built.clear()
            check_c_source(source, task.raw.get("admission", {}), int(task.limit("source_bytes", 1 << 18)))
            library = _compile(compiler, flags, source, task.limit("compile_seconds", 60))
            check_library(library)
            self._built[key] = library
        return self._built[key]


def _compile(compiler: str, flags: list[str], source: str, seconds: float) -> bytes:
    with tempfile.TemporaryDirectory(prefix="headway-cc-") as folder:
        place = Path(folder)
        (place / "candidate.c").write_text(source)
        argv = [compiler, *flags, *FIXED_FLAGS, "-o", "candidate.so", "candidate.c", "-lm"]
        with subprocess.Popen(
            argv, cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C", "TMPDIR": folder, "HOME": folder},
            preexec_fn=lambda: _close_in(folder), start_new_session=True,
        ) as process:  # fmt: skip
            try:
                said, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise Refused(
                    "timed_out", f"The compiler took more than {seconds:g} s.", "Make the source smaller."
                ) from None
        library = place / "candidate.so"
        if process.returncode != 0 or not library.exists():
            lines = said.decode("utf-8", "replace").strip().splitlines()
            errors = [line for line in lines if "error" in line] or lines or [f"exit {process.returncode}"]
            raise Refused("compile_failed", " / ".join(errors[:3])[:600], "Correct the source.")
        return library.read_bytes()


def _close_in(folder: str) -> None:
    """In the compiler's process: it reads the system's files and writes into its own folder, nothing else."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 20, 64 << 20))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    sandbox.die_with_parent()
    sandbox.only_files((*READABLE, sys.prefix), (folder, "/dev/null"))
