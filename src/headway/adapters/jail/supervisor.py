"""The supervisor: one process that starts an untrusted command in its layers, outlives it, and leaves nothing behind.

    headway ── supervisor (child subreaper) ── [init of its own process ids ──] the command ── whatever it starts

It ends when the command does, at the time limit, or when headway vanishes (the lifeline pipe closes), and in each case
the whole tree is gone first: by ending the init where there is one, else by hunting down every descendant, which the
subreaper keeps in reach however often they fork away. A layer that was asked for and fails is an error, never skipped.
"""

from __future__ import annotations

import marshal
import os
import resource
import select
import sys
import time

from headway.adapters.jail import kernel, landlock, namespaces, seccomp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    Spec: TypeAlias = dict[str, Any]

START_FAILED = 127
KILL_PATIENCE_SECONDS = 5.0
CENSUS_SECONDS = 0.5
"""How often the processes of a command with a limit on them are counted."""


def main() -> None:
    """`argv`: fd of the spec, fd for the report (both marshalled by this very Python), fd of the lifeline."""
    spec_fd, report_fd, lifeline = (int(a) for a in sys.argv[-3:])
    for fd in (spec_fd, report_fd, lifeline):
        os.set_inheritable(fd, False)
    with os.fdopen(spec_fd, "rb") as file:
        spec: Spec = marshal.loads(file.read())
    try:
        report = probe() if spec.get("probe") else supervise(spec, lifeline)
    except OSError as trouble:
        report = {"not_started": f"the sandbox could not be set up: {trouble}"}
    os.write(report_fd, marshal.dumps(report))


def supervise(spec: Spec, lifeline: int) -> dict[str, Any]:
    """Start, watch, clean up, report."""
    started = time.monotonic()
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    own_ids = "namespaces" in spec["layers"]
    if own_ids:
        namespaces.enter(network=spec["network"])
    word_read, word_write = os.pipe()
    child = os.fork()
    if child == 0:
        _guarded(lambda: _init(spec, word_write) if own_ids else _become(spec, word_write))
    os.close(word_write)
    why, status = _watch(child, lifeline, started + spec["seconds"], spec["processes"])
    survivors = _end_tree(child, own_ids, status)
    word = _read_all(word_read)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        **_ending(why, status, word, own_ids),
        "user": used.ru_utime,
        "system": used.ru_stime,
        "peak": used.ru_maxrss * 1024,
        "wall": time.monotonic() - started,
        "survivors": survivors,
    }


def probe() -> dict[str, Any]:
    """Which layers work here, each tried for real in a child of its own: name -> "" or why not."""
    return {
        "namespaces": _try(_probe_namespaces),
        "landlock": _try(_probe_landlock),
        "seccomp": _try(_probe_seccomp),
        "no-capabilities": _try(kernel.drop_all_capabilities),
    }


# --- the command's side of the fork


def _init(spec: Spec, word: int) -> None:
    """Init of the new process ids: furnish them, start the command, reap whatever is orphaned, hand on its ending."""
    kernel.prctl(kernel.PR_SET_PDEATHSIG, kernel.SIGKILL)
    namespaces.furnish(network=spec["network"])
    refused_read, refused_write = os.pipe()
    command = os.fork()
    if command == 0:
        _guarded(lambda: _become(spec, refused_write))
    os.close(refused_write)
    refusal = _read_all(refused_read)
    while True:
        pid, status = os.wait()
        if pid == command:
            break
    os.write(word, refusal or f"status {status}".encode())
    os._exit(0)


def _become(spec: Spec, word: int) -> None:
    """Turn into the command. Only a failure to start writes to `word`; a success closes it by exec."""
    os.setsid()
    kernel.prctl(kernel.PR_SET_PDEATHSIG, kernel.SIGKILL)
    kernel.default_action(kernel.SIGPIPE)
    try:
        os.chdir(spec["cwd"])
        for name, limit in spec["rlimits"].items():
            # a hard limit of the machine may be lower already, and cannot be raised
            hard = resource.getrlimit(getattr(resource, name))[1]
            bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(getattr(resource, name), (bound, bound))
        _confine(spec)
        os.execvpe(spec["argv"][0], spec["argv"], spec["env"])
    except OSError as trouble:
        # execvpe names the last place it looked, in bytes; the program is what the reader knows
        subject = trouble.filename if isinstance(trouble.filename, str) else spec["argv"][0]
        os.write(word, f"refused {subject}: {trouble.strerror}".encode())
        os._exit(START_FAILED)


def _confine(spec: Spec) -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # where memory runs out, the command goes first, not headway
    except PermissionError:
        pass  # inside another sandbox (headway in a suite of its own), which has set it already
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    if "landlock" in spec["layers"]:
        landlock.restrict(spec["read"], spec["write"])
    if "no-capabilities" in spec["layers"]:
        kernel.drop_all_capabilities()
    if "seccomp" in spec["layers"]:
        seccomp.install(no_internet=not spec["network"] and "namespaces" not in spec["layers"])


def _guarded(body: Callable[[], None]) -> None:
    """A child must never return into its parent's code."""
    try:
        body()
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        os._exit(START_FAILED)


# --- the supervisor's side


def _watch(child: int, lifeline: int, deadline: float, processes: int | None) -> tuple[str, int | None]:
    """Until the child ends ("ended", its status), the time is up ("late"), it has bred too many processes ("swarm") or
    headway is gone ("orphaned"). Processes are counted here: root's are exempt from RLIMIT_NPROC."""
    poller = select.poll()
    poller.register(lifeline, select.POLLIN)
    try:
        poller.register(os.pidfd_open(child), select.POLLIN)
        longest = CENSUS_SECONDS if processes else 3600.0
    except OSError:  # before Linux 5.3
        longest = 0.01
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return "late", None
        ready = [fd for fd, _ in poller.poll(min(left, longest) * 1000)]
        if lifeline in ready:
            return "orphaned", None
        if processes and not ready and len(descendants(os.getpid())) > processes:
            return "swarm", None
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            return "ended", status


def _end_tree(child: int, own_ids: bool, status: int | None) -> int:
    """SIGKILL to everything that is left; returns how many would not die (stuck in the kernel)."""
    if own_ids and status is None:
        os.kill(child, kernel.SIGKILL)
    patience = time.monotonic() + KILL_PATIENCE_SECONDS
    while time.monotonic() < patience:
        for pid in [] if own_ids else descendants(os.getpid()):
            try:
                os.kill(pid, kernel.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return 0
        time.sleep(0.002)
    return len(descendants(os.getpid()))


def descendants(root: int) -> list[int]:
    """Every process below `root`, nearest first."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    parent = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            children.setdefault(parent, []).append(int(name))
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(0), [])
        found += below
        queue += below
    return found


def _ending(why: str, status: int | None, word: bytes, own_ids: bool) -> dict[str, Any]:
    text = word.decode("utf-8", "replace")
    if text.startswith("refused "):
        return {"not_started": text.removeprefix("refused ")}
    if why == "late":
        return {"timed_out": True}
    if why != "ended":
        return {"signal": kernel.SIGKILL, "note": "too many processes" if why == "swarm" else "headway went away"}
    if own_ids:
        if not text.startswith("status "):
            if status is not None and os.WIFEXITED(status):
                return {"not_started": "the sandbox could not be set up (its first process failed; see the output)"}
            return {"signal": kernel.SIGKILL}  # the init itself was ended, by the out-of-memory killer most likely
        status = int(text.removeprefix("status "))
    assert status is not None
    code = os.waitstatus_to_exitcode(status)
    return {"exit": code} if code >= 0 else {"signal": -code}


def _read_all(fd: int) -> bytes:
    with os.fdopen(fd, "rb") as file:
        return file.read()


# --- probes


def _try(body: Callable[[], None]) -> str:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            body()
        except BaseException as trouble:
            os.write(write, str(trouble).encode() or b"failed")
        os._exit(0)
    os.close(write)
    said = _read_all(read).decode("utf-8", "replace")
    os.waitpid(child, 0)
    return said


def _probe_namespaces() -> None:
    namespaces.enter(network=False)
    init = os.fork()
    if init == 0:
        try:
            namespaces.furnish(network=False)
        except BaseException:
            os._exit(1)
        os._exit(0)
    if os.waitpid(init, 0)[1] != 0:
        raise OSError("own process ids and mounts are not allowed here")


def _probe_landlock() -> None:
    if landlock.abi() == 0:
        raise OSError("this kernel has no Landlock")
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    landlock.restrict([], [])


def _probe_seccomp() -> None:
    if not seccomp.supported():
        raise OSError(f"no filter for {os.uname().machine}")
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.install(no_internet=True)
