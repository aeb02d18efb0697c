"""seccomp: system calls that no build or test needs, and that reach out of a sandbox, answer EPERM."""

import ctypes
import errno
import os
import struct

from headway.adapters.jail import kernel

# name -> number on (x86_64, aarch64); None where the architecture has no such call
DENIED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "setns": (308, 268),
    "unshare": (272, 97),
    "open_by_handle_at": (304, 265),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "fanotify_init": (300, 262),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "syslog": (103, 116),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "iopl": (172, None),
    "ioperm": (173, None),
}
_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE = {"x86_64": 56, "aarch64": 220}
_SOCKET = {"x86_64": 41, "aarch64": 198}
_CLONE3 = 435
_AF_UNIX, _AF_NETLINK = 1, 16
_X32_BIT = 0x40000000
_NAMESPACE_FLAGS = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET

_LOAD, _JEQ, _JGE, _JSET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH, _ARG0 = 0, 4, 16
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_MODE_FILTER = 2


def supported() -> bool:
    """Only architectures whose numbers are listed above."""
    return os.uname().machine in _AUDIT_ARCH


def install(*, no_internet: bool) -> None:
    """Filter this process and all it starts; `no_internet` also refuses every socket family but Unix and netlink.

    Needs no_new_privs. Raises OSError.
    """
    code = b"".join(program(os.uname().machine, no_internet=no_internet))
    buffer = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    kernel.prctl(kernel.PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_char_p(head))


def program(machine: str, *, no_internet: bool) -> list[bytes]:
    """The BPF instructions: each denied call is one compare and one return, so no jump is ever too far."""
    column = 0 if machine == "x86_64" else 1
    refuse = _ins(_RETURN, _ERRNO | errno.EPERM)
    code = [_ins(_LOAD, _ARCH), _ins(_JEQ, _AUDIT_ARCH[machine], 1, 0), _ins(_RETURN, _KILL), _ins(_LOAD, _NR)]
    if machine == "x86_64":
        code += [_ins(_JGE, _X32_BIT, 0, 1), refuse]
    for numbers in DENIED.values():
        number = numbers[column]
        if number is not None:
            code += [_ins(_JEQ, number, 0, 1), refuse]
    # clone3 hides its flags behind a pointer; ENOSYS makes every libc fall back to clone, whose flags can be read
    code += [_ins(_JEQ, _CLONE3, 0, 1), _ins(_RETURN, _ERRNO | errno.ENOSYS)]
    if no_internet:
        allow = _ins(_RETURN, _ALLOW)
        code += [_ins(_JEQ, _SOCKET[machine], 0, 5), _ins(_LOAD, _ARG0)]
        code += [_ins(_JEQ, _AF_UNIX, 1, 0), _ins(_JEQ, _AF_NETLINK, 0, 1), allow, refuse]
    code += [_ins(_JEQ, _CLONE[machine], 0, 3), _ins(_LOAD, _ARG0), _ins(_JSET, _NAMESPACE_FLAGS, 0, 1), refuse]
    return [*code, _ins(_RETURN, _ALLOW)]


def _ins(code: int, k: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, k)
