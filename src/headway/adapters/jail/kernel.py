"""System calls that the standard library has no name for. Every failure is an OSError with the kernel's errno."""

import ctypes
import os

_LIBC = ctypes.CDLL(None, use_errno=True)

SIGKILL, SIGPIPE = 9, 13
PR_SET_PDEATHSIG = 1
PR_CAPBSET_DROP = 24
PR_SET_SECCOMP = 22
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38

MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
CLONE_NEWNS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x00020000,
    0x08000000,
    0x10000000,
    0x20000000,
    0x40000000,
)

_CAPABILITY_VERSION_3 = 0x20080522


def syscall(number: int, *args: object) -> int:
    """A raw system call; integers are passed as 64 bit."""
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    return _checked(_LIBC.syscall(ctypes.c_long(number), *wide))


def prctl(option: int, *args: object) -> int:
    wide = [ctypes.c_ulong(a) if isinstance(a, int) else a for a in args]
    wide += [ctypes.c_ulong(0)] * (4 - len(wide))
    return _checked(_LIBC.prctl(ctypes.c_int(option), *wide))


def unshare(flags: int) -> None:
    _checked(_LIBC.unshare(ctypes.c_int(flags)))


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    parts = (os.fsencode(source), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _checked(_LIBC.mount(*parts))


def default_action(signal: int) -> None:
    """What the signal does in a fresh process; Python ignores SIGPIPE, and children would inherit that."""
    _LIBC.signal(ctypes.c_int(signal), None)


def drop_all_capabilities() -> None:
    """Give up every capability for good: uid 0 then is an ordinary user that happens to own root's files."""
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # EINVAL past the last one the kernel knows; EPERM without CAP_SETPCAP, when there is none
            break
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    nothing = (ctypes.c_uint32 * 6)()
    _checked(_LIBC.capset(ctypes.byref(header), ctypes.byref(nothing)))


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
