"""The executor on this machine: each command runs under a supervisor of its own (`adapters/jail`), in every sandbox
layer that works here. Which layers work is probed once per process; each result names those really in force."""

import functools
import marshal
import os
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import headway
from headway.adapters import sandbox_paths
from headway.adapters.output_cut import OutputCut
from headway.core.errors import CouldNotRun
from headway.core.ports.executor import Command, Limits, Outcome, Resources

SUPERVISOR_GRACE_SECONDS = 15.0
"""How long after the command's own limit headway waits for the supervisor before it ends the supervisor too."""

_READ_BYTES = 1 << 16
_SOURCE_ROOT = str(Path(headway.__file__).parent.parent)
_START = "import sys; sys.path.insert(0, sys.argv[1]); from headway.adapters.jail.supervisor import main; main()"
OWN_FOLDERS = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "TMP": "tmp",
    "TEMP": "tmp",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_DATA_HOME": "home/.local/share",
    "XDG_STATE_HOME": "home/.local/state",
    "XDG_RUNTIME_DIR": "run",
}
"""Set over whatever the command's environment says: a fresh folder each time, gone afterwards."""


@dataclass(frozen=True, slots=True)
class Layers:
    """What the probe found: layers in force, and for each missing one why."""

    names: tuple[str, ...]
    missing: Mapping[str, str]


class LocalExecutor:
    """`Executor` on this machine. Dot files of `homes` are secrets; `layers` switches layers off (to test the rest)."""

    def __init__(self, *, homes: tuple[Path, ...] | None = None, layers: frozenset[str] | None = None) -> None:
        self._homes = homes if homes is not None else sandbox_paths.homes(os.environ)
        self._wanted = layers
        self._layers: Layers | None = None

    def layers(self) -> Layers:
        """Probe once, then remember. Raises CouldNotRun if no process can be started at all."""
        if self._layers is None:
            report = _probed()
            wanted = {k: v if self._wanted is None or k in self._wanted else "switched off" for k, v in report.items()}
            self._layers = Layers(
                tuple(name for name, trouble in wanted.items() if not trouble),
                {name: trouble for name, trouble in wanted.items() if trouble},
            )
        return self._layers

    def run(self, command: Command) -> Outcome:
        """See the port. The command's HOME and temporary folders are made here and removed at the end."""
        layers = self.layers().names
        scratch = Path(tempfile.mkdtemp(prefix="headway-run-"))
        try:
            for folder in OWN_FOLDERS.values():
                (scratch / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
            output = OutputCut(command.limits.output_bytes)
            spec = self._spec(command, layers, scratch)
            report = _supervised(spec, output, command.stdin, command.limits.seconds)
        finally:
            remove_tree(scratch)
        return _outcome(report, output, _in_force(layers, command))

    def _spec(self, command: Command, layers: tuple[str, ...], scratch: Path) -> dict[str, Any]:
        own = {name: str(scratch / folder) for name, folder in OWN_FOLDERS.items()}
        return {
            "argv": list(command.argv),
            "cwd": str(command.cwd),
            "env": {**command.env, **own},
            "seconds": command.limits.seconds,
            "processes": command.limits.processes,
            "rlimits": _rlimits(command.limits),
            "layers": list(layers),
            "network": command.network,
            "read": [*sandbox_paths.readable(command, self._homes), str(scratch)] if "landlock" in layers else [],
            "write": sandbox_paths.writable(command, scratch),
        }


@functools.cache
def _probed() -> Mapping[str, str]:
    """Layer -> "" or why it does not work: a fact of the machine, found out once in a process. Raises CouldNotRun."""
    report = _supervised({"probe": True}, OutputCut(4096), b"", 60.0)
    if "landlock" not in report:
        raise CouldNotRun(f"The sandbox's supervisor does not start: {report.get('not_started', 'no report')}.")
    return report


def remove_tree(folder: Path) -> None:
    """Remove a folder that untrusted code wrote, whatever modes it left; never follows a symlink out of it."""

    def open_up(function: Any, path: str, _: Any) -> None:
        entry = Path(path)
        for blocked in (entry.parent, entry):
            try:
                if stat.S_ISDIR(blocked.lstat().st_mode):
                    blocked.chmod(0o700)
            except OSError:
                return
        try:
            shutil.rmtree(entry) if stat.S_ISDIR(entry.lstat().st_mode) else entry.unlink()
        except OSError:
            return

    shutil.rmtree(folder, onerror=open_up)


def _supervised(spec: dict[str, Any], output: OutputCut, stdin: bytes, seconds: float) -> dict[str, Any]:
    """Start the supervisor, read all it and its tree write, return its report."""
    spec_fd, stdin_fd = _memory_file(marshal.dumps(spec)), _memory_file(stdin)
    report_read, report_write = os.pipe()
    lifeline_read, lifeline_write = os.pipe()
    handed = (spec_fd, report_write, lifeline_read)
    argv = [sys.executable, "-I", "-S", "-c", _START, _SOURCE_ROOT, *map(str, handed)]
    try:
        process = subprocess.Popen(
            argv,
            stdin=stdin_fd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"LC_ALL": "C.UTF-8"},
            pass_fds=handed,
            start_new_session=True,
        )
    except OSError as trouble:
        os.close(report_read)
        os.close(lifeline_write)
        return {"not_started": f"the supervisor does not start: {trouble}"}
    finally:
        for fd in (spec_fd, stdin_fd, report_write, lifeline_read):
            os.close(fd)
    try:
        _drain(process, output, seconds + SUPERVISOR_GRACE_SECONDS)
    finally:
        os.close(lifeline_write)  # a supervisor that still lives now ends its tree and itself
        _end(process)
        with os.fdopen(report_read, "rb") as file:
            said = file.read()
    try:
        report: dict[str, Any] = marshal.loads(said)
    except (EOFError, ValueError):
        return {"signal": -process.returncode if process.returncode < 0 else int(signal.SIGKILL)}
    return report


def _memory_file(content: bytes) -> int:
    fd = os.memfd_create("headway", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(fd), "wb") as file:
        file.write(content)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _drain(process: "subprocess.Popen[bytes]", output: OutputCut, seconds: float) -> None:
    assert process.stdout is not None
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0:
            if selector.select(left):
                chunk = os.read(process.stdout.fileno(), _READ_BYTES)
                if not chunk:
                    return
                output.feed(chunk)


def _end(process: "subprocess.Popen[bytes]") -> None:
    assert process.stdout is not None
    process.stdout.close()
    try:
        process.wait(SUPERVISOR_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _rlimits(limits: Limits) -> dict[str, int]:
    wanted = {
        "RLIMIT_AS": limits.memory_bytes,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_CORE": 0,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _in_force(layers: tuple[str, ...], command: Command) -> tuple[str, ...]:
    names = ["rlimits", "own-home", *layers]
    if not command.network and ("namespaces" in layers or "seccomp" in layers):
        names.append("no-network")
    return tuple(names)


def _outcome(report: dict[str, Any], output: OutputCut, sandbox: tuple[str, ...]) -> Outcome:
    number = report.get("signal")
    if report.get("note"):
        output.feed(f"\n[headway: {report['note']}]\n".encode())
    return Outcome(
        exit=report.get("exit"),
        output=output.text(),
        timed_out=bool(report.get("timed_out")),
        died=signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}" if number else None,
        truncated=output.truncated,
        resources=Resources(
            report.get("wall", 0.0), report.get("user", 0.0), report.get("system", 0.0), report.get("peak", 0)
        ),
        sandbox=sandbox,
        not_started=report.get("not_started"),
    )
