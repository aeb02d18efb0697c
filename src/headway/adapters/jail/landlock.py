"""Landlock (Linux >= 5.13): only listed paths can be read or written, signals stay inside, no privilege is needed."""

from __future__ import annotations

import ctypes
import errno
import os
import stat

from headway.adapters.jail import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture
_VERSION_FLAG = 1
_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_UP_TO_ABI_1 = (1 << 13) - 1
READ = EXECUTE | READ_FILE | READ_DIR
_FOR_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 3


class _Ruleset(ctypes.Structure):
    _fields_ = (("fs", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("fd", ctypes.c_int32))


def abi() -> int:
    """The kernel's Landlock version, 0 if it has none."""
    try:
        return kernel.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError:
        return 0


def restrict(read: Iterable[str], write: Iterable[str]) -> None:
    """From now on this process and all it starts may touch these paths (and what lies beneath) and no others.

    Paths that do not exist are passed over. Needs no_new_privs. Raises OSError.
    """
    version = abi()
    handled = _UP_TO_ABI_1
    handled |= REFER if version >= 2 else 0
    handled |= TRUNCATE if version >= 3 else 0
    handled |= IOCTL_DEV if version >= 5 else 0
    attributes = _Ruleset(handled, 0, _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS if version >= 6 else 0)
    size = 24 if version >= 6 else 8
    ruleset = kernel.syscall(_CREATE_RULESET, ctypes.byref(attributes), size, 0)
    try:
        for path in read:
            _allow(ruleset, path, READ & handled)
        for path in write:
            _allow(ruleset, path, handled)
        kernel.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= _FOR_FILES
        rule = _PathBeneath(access, fd)
        kernel.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    except OSError as refused:
        if refused.errno != errno.EBADFD:  # a pipe or an anonymous file behind a name in /dev: Landlock ignores these
            raise
    finally:
        os.close(fd)
