"""Namespaces: own process ids (the tree dies with its init), own mounts and IPC, a network that reaches only itself."""

import _socket
import fcntl
import os
import struct

from headway.adapters.jail import kernel

_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1

MASKED = (
    "/run/docker.sock",
    "/run/containerd",
    "/run/podman",
    "/run/dbus",
    "/run/user",
    "/run/systemd/private",
    "/run/snapd.socket",
)
"""Sockets of services that act with more rights than ours; Landlock does not guard `connect` on a path."""


def enter(*, network: bool) -> None:
    """Unshare; the next child is init of the new process ids. Raises OSError (then nothing was changed)."""
    flags = kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC
    flags |= 0 if network else kernel.CLONE_NEWNET
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        try:
            kernel.unshare(flags)
            return
        except OSError:  # root of a container: no CAP_SYS_ADMIN, but perhaps user namespaces
            pass
    kernel.unshare(flags | kernel.CLONE_NEWUSER)
    for name, content in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(content)


def furnish(*, network: bool) -> None:
    """In the new init: own /proc and /dev/shm, masked service sockets, loopback up. Raises OSError."""
    kernel.unshare(kernel.CLONE_NEWNS)  # here and not in `enter`: the supervisor counts processes in the outer /proc
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    if os.path.isdir("/dev/shm"):
        kernel.mount("tmpfs", "/dev/shm", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=1777")
    for masked in MASKED:
        if os.path.isdir(masked):
            kernel.mount("tmpfs", masked, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=4k")
        elif os.path.exists(masked):
            kernel.mount("/dev/null", masked, "", kernel.MS_BIND)
    if not network:
        _loopback_up()


def _loopback_up() -> None:
    any_socket = _socket.socket(_socket.AF_INET, _socket.SOCK_DGRAM)
    request = struct.pack("16sH14s", b"lo", 0, b"")
    flags = struct.unpack("16sH14s", fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request))[1]
    fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", flags | _IFF_UP, b""))
    any_socket.close()
