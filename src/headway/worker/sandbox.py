"""What a runner puts between itself and the machine before it sees a candidate. Standard library only, by ctypes.

Each layer is tried on its own and named in every result only when it is really in force: `setuid` (root only),
`no-capabilities`, `private-mounts`, `no-network-namespace`, `landlock-vN`, `seccomp`, `rlimits`. A layer that the
machine refuses is left out, never pretended. What each one stops, and what none stops, is written in docs/lab.md.
"""

import ctypes
import os
import resource
import struct
import sys
from typing import NamedTuple

# --- numbers of the kernel's interface; the same on every architecture unless a table says otherwise
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP = 1, 4, 22, 38, 24
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWNET, CLONE_THREAD = 0x20000, 0x8000000, 0x40000000, 0x10000
MS_REC, MS_PRIVATE, MS_NOSUID, MS_NODEV = 0x4000, 0x40000, 2, 4
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
READ_ACCESS = 0b1101  # execute, read file, read folder
AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# System calls that no kernel candidate needs. Refused with EPERM; one table per architecture because numbers differ.
DENIED = {
    "x86_64": {
        "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "pidfd_open": 434,
        "pidfd_getfd": 438, "pidfd_send_signal": 424, "seccomp": 317, "mount": 165, "umount2": 166, "pivot_root": 155,
        "unshare": 272, "setns": 308, "keyctl": 250, "add_key": 248, "request_key": 249, "bpf": 321,
        "perf_event_open": 298, "userfaultfd": 323, "io_uring_setup": 425, "io_uring_enter": 426, "socket": 41,
        "socketpair": 53, "connect": 42, "execve": 59, "execveat": 322, "fork": 57, "vfork": 58, "tkill": 200,
        "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297, "setitimer": 38, "alarm": 37, "timer_create": 222,
        "timerfd_create": 283, "shmget": 29, "msgget": 68, "semget": 64, "open_by_handle_at": 304, "chroot": 161,
        "init_module": 175, "finit_module": 313, "kexec_load": 246, "personality": 135, "open_tree": 428,
        "move_mount": 429, "fsopen": 430, "fsmount": 432, "mount_setattr": 442,
        "sched_setaffinity": 203, "sched_setscheduler": 144, "setpriority": 141, "prctl": 157, "memfd_create": 319,
    },
    "aarch64": {
        "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "pidfd_open": 434,
        "pidfd_getfd": 438, "pidfd_send_signal": 424, "seccomp": 277, "mount": 40, "umount2": 39, "pivot_root": 41,
        "unshare": 97, "setns": 268, "keyctl": 219, "add_key": 217, "request_key": 218, "bpf": 280,
        "perf_event_open": 241, "userfaultfd": 282, "io_uring_setup": 425, "io_uring_enter": 426, "socket": 198,
        "socketpair": 199, "connect": 203, "execve": 221, "execveat": 281, "tkill": 130, "rt_sigqueueinfo": 138,
        "rt_tgsigqueueinfo": 240, "setitimer": 103, "timer_create": 107, "timerfd_create": 85, "shmget": 194,
        "msgget": 186, "semget": 190, "open_by_handle_at": 265, "chroot": 51, "init_module": 105,
        "finit_module": 273, "kexec_load": 104, "personality": 92, "open_tree": 428, "move_mount": 429,
        "fsopen": 430, "fsmount": 432, "mount_setattr": 442,
        "sched_setaffinity": 122, "sched_setscheduler": 119, "setpriority": 140, "prctl": 167, "memfd_create": 279,
    },
}  # fmt: skip
SPECIAL = {
    "x86_64": {"clone": 56, "clone3": 435, "kill": 62, "tgkill": 234},
    "aarch64": {"clone": 220, "clone3": 435, "kill": 129, "tgkill": 131},
}
SECCOMP_CALL = {"x86_64": 317, "aarch64": 277}
PROGRAMS = frozenset({"execve", "execveat", "fork", "vfork", "prctl"})
NEEDED_BY_CUDA = frozenset({"seccomp", "prctl", "memfd_create", "sched_setaffinity", "socket", "socketpair", "connect"})


class Plan(NamedTuple):
    """Which layers to try. `threads`: a CUDA driver needs threads, a CPU candidate must not have any. `programs`: a
    compiler may be started, until `seal`."""

    uid: int | None
    threads: bool
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    hidden: tuple[str, ...]
    programs: bool = False


_libc = ctypes.CDLL(None, use_errno=True)


def _call(number: int, *args: object) -> int:
    return int(_libc.syscall(ctypes.c_long(number), *args))


def not_dumpable() -> None:
    """Close `/proc/<this process>/mem` and ptrace to others of the same user. For the judge."""
    _libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def die_with_parent() -> None:
    """SIGKILL for this process when its parent thread ends, so that a killed worker leaves nothing behind."""
    _libc.prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0)


def enter(plan: Plan) -> list[str]:
    """Apply every layer that this machine grants, in the order that each still has the rights it needs."""
    layers = ["own-process"]
    if plan.uid is not None and _namespaces(plan.hidden):
        layers += ["private-mounts", "no-network-namespace"]
    layers += _limits()
    if plan.uid is not None:
        layers += _other_user(plan.uid)
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    # a change of user makes a process undumpable; the judge, if it is not root, must still read what is returned
    _libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    die_with_parent()
    version = _landlock(plan.readable, plan.writable)
    if version:
        layers.append(f"landlock-v{version}")
    if _seccomp(plan.threads, plan.programs):
        layers.append("seccomp")
    return layers


def landlock_version() -> int:
    """The version of the kernel's Landlock interface; 0 if there is none."""
    return max(0, _call(LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


def only_files(readable: tuple[str, ...], writable: tuple[str, ...]) -> int:
    """The Landlock layer alone, for a compiler: it must start programs. Returns its version, 0 if there is none."""
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return _landlock(readable, writable)


def _namespaces(hidden: tuple[str, ...]) -> bool:
    if (
        _libc.unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWNET) != 0
        or _libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0
    ):
        return False
    for folder in hidden:
        if os.path.isdir(folder):
            _libc.mount(b"tmpfs", folder.encode(), b"tmpfs", MS_NOSUID | MS_NODEV, b"size=64m,mode=755")
    return True


def limit_memory(limit: int) -> None:
    """From now on this process may hold `limit` bytes of address space, never again more than that."""
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _limits() -> list[str]:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    return ["rlimits"]


def _other_user(uid: int) -> list[str]:
    try:
        for capability in range(64):
            if _libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
                break
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    except OSError:
        return []
    return ["other-user", "no-capabilities"]


def _landlock(readable: tuple[str, ...], writable: tuple[str, ...]) -> int:
    """Files: only what is listed. Network: none (v4). Signals and abstract sockets: none outwards (v6)."""
    version = landlock_version()
    if version < 1:
        return 0
    files = (1 << 13) - 1 | (1 << 13 if version >= 2 else 0) | (1 << 14 if version >= 3 else 0)
    words = [files] + ([3] if version >= 4 else []) + ([3] if version >= 6 else [])
    attributes = struct.pack(f"={len(words)}Q", *words)
    ruleset = _call(LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    if ruleset < 0:
        return 0
    for paths, access in ((readable, READ_ACCESS), (writable, files)):
        for path in paths:
            _allow_beneath(ruleset, path, access)
    held = _call(LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    os.close(ruleset)
    return version if held == 0 else 0


def _allow_beneath(ruleset: int, path: str, access: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not os.path.isdir(path):
        access &= 0b111 | 1 << 14  # folder rights on a file make the kernel refuse the whole rule
    _call(LANDLOCK_ADD, ctypes.c_int(ruleset), ctypes.c_int(1), struct.pack("=Qi", access, handle), ctypes.c_uint32(0))
    os.close(handle)


def seal() -> bool:
    """End what `programs` allowed, for every thread of this process: no process, no program from here on."""
    return _seccomp(threads=True, programs=False)


def _seccomp(threads: bool, programs: bool) -> bool:
    machine = os.uname().machine
    if machine not in DENIED or sys.byteorder != "little":
        return False
    program = _filter(machine, os.getpid(), threads, programs)
    code = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    wanted = Program(len(program) // 8, ctypes.addressof(code))
    if threads:  # TSYNC: the driver's threads come under it too
        return _call(SECCOMP_CALL[machine], ctypes.c_uint(1), ctypes.c_uint(1), ctypes.byref(wanted)) == 0
    return int(_libc.prctl(PR_SET_SECCOMP, 2, ctypes.byref(wanted), 0, 0)) == 0


def _filter(machine: str, pid: int, threads: bool, programs: bool) -> bytes:
    """A BPF program over `struct seccomp_data`: number at 0, architecture at 4, first argument at 16."""

    def load(offset: int) -> bytes:
        return struct.pack("=HBBI", 0x20, 0, 0, offset)

    def jump_if_equal(value: int, yes: int, no: int) -> bytes:
        return struct.pack("=HBBI", 0x15, yes, no, value)

    def answer(error: int | None) -> bytes:
        return struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000 if error is None else 0x00050000 | error)

    kill = struct.pack("=HBBI", 0x06, 0, 0, 0x80000000)
    special = SPECIAL[machine]
    code = load(4) + jump_if_equal(AUDIT_ARCH[machine], 1, 0) + kill + load(0)
    if machine == "x86_64":  # the x32 numbers reach the same calls under other names
        code += struct.pack("=HBBI", 0x35, 0, 1, 0x40000000) + answer(38)
    if not programs:
        code += jump_if_equal(special["clone3"], 0, 1) + answer(38)  # "not there": libc then uses clone, which is seen
    for name, number in DENIED[machine].items():
        if not (threads and name in NEEDED_BY_CUDA) and not (programs and name in PROGRAMS):
            code += jump_if_equal(number, 0, 1) + answer(1)
    if programs:
        pass
    elif threads:  # a new thread passes, a new process does not
        code += jump_if_equal(special["clone"], 0, 4) + load(16)
        code += struct.pack("=HBBI", 0x45, 1, 0, CLONE_THREAD) + answer(1) + answer(None)
    else:
        code += jump_if_equal(special["clone"], 0, 1) + answer(1)
    for name in () if programs else ("kill", "tgkill"):  # only itself
        code += jump_if_equal(special[name], 0, 4) + load(16) + jump_if_equal(pid, 1, 0) + answer(1) + answer(None)
    return code + answer(None)
