"""Which paths an untrusted command may read and write. Landlock only knows allow-lists, so a hidden path means that
each of its ancestors is opened up child by child."""

import os
import pwd
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from headway.core.ports.executor import Command

DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm")
GPU_DEVICES = ("nvidia*", "dri", "kfd", "dxg")
SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/proc",
    "/sys",
    "/dev",
)
SHELL_HISTORY_AND_TOKENS = (".netrc", ".pypirc", ".npmrc", ".git-credentials", ".gitconfig", "credentials.toml")
"""Names that hold secrets even inside a dot folder that is otherwise a toolchain."""


def homes(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Folders whose dot files are secrets: HOME, and the account's own home where HOME was set to something else."""
    named = [Path(env["HOME"])] if env.get("HOME") else []
    try:
        named.append(Path(pwd.getpwuid(os.getuid()).pw_dir))
    except KeyError:
        pass
    return tuple(dict.fromkeys(path.resolve() for path in named if path != Path("/")))


def readable(command: Command, homes: Iterable[Path]) -> list[str]:
    """Paths to open for reading. Symlinks are resolved first: a rule is about what a path leads to."""
    toolchains = [folder for home in homes for folder in toolchain_folders(command.env, home)]
    hidden = [*(secret for home in homes for secret in _secrets(home, toolchains)), *command.hidden]
    if command.readable is None:
        roots = [Path("/")]
    else:
        roots = [Path(p) for p in SYSTEM] + [Path(sys.prefix), Path(sys.base_prefix), *toolchains, *command.readable]
    own = [command.cwd, *command.writable, *command.readable_inside]
    return [*_without(roots, hidden), *map(str, own)]


def writable(command: Command, scratch: Path) -> list[str]:
    """Paths to open for writing: the command's own, its scratch folder, and harmless or GPU devices."""
    dev = Path("/dev")
    gpus = [found for pattern in GPU_DEVICES for found in dev.glob(pattern)]
    return [str(path) for path in (*command.writable, scratch, *(dev / name for name in DEVICES), *gpus)]


def toolchain_folders(env: Mapping[str, str], home: Path) -> list[Path]:
    """Folders inside hidden dot folders of HOME that programs on PATH live in (`~/.pyenv`, `~/.local/bin`)."""
    inside = [Path(sys.prefix), Path(sys.base_prefix)]
    for entry in env.get("PATH", "").split(os.pathsep):
        path = Path(entry)
        if path.is_absolute():
            whole = path.parent not in (home, home / ".local")  # `~/.pyenv/shims` needs all of `~/.pyenv`
            inside += [path, path.resolve(), path.parent if whole else path.parent / "lib"]
    return [path for path in inside if path.is_relative_to(home) and path.exists()]


def _secrets(home: Path, toolchains: Iterable[Path]) -> list[Path]:
    """Every dot entry of HOME, opened up where a toolchain lives inside it."""
    try:
        dotted = [entry for entry in home.iterdir() if entry.name.startswith(".")]
    except OSError:
        return []
    hidden: list[Path] = []
    for entry in dotted:
        hidden += _closed_but_for(entry, [tool for tool in toolchains if tool.is_relative_to(entry)])
    return hidden


def _closed_but_for(folder: Path, open_folders: list[Path]) -> list[Path]:
    if not open_folders:
        return [folder]
    if folder in open_folders:
        return [secret for name in SHELL_HISTORY_AND_TOKENS if (secret := folder / name).exists()]
    hidden: list[Path] = []
    for entry in folder.iterdir():
        hidden += _closed_but_for(entry, [tool for tool in open_folders if tool.is_relative_to(entry)])
    return hidden


def _without(roots: Iterable[Path], hidden: Iterable[Path]) -> list[str]:
    """The fewest paths that cover `roots` and no part of `hidden`. Strings and sets: /tmp may have 10,000 entries."""
    holes = {str(path.resolve()) for path in hidden}
    opened_up = {str(ancestor) for hole in holes for ancestor in Path(hole).parents}
    covered: list[str] = []
    queue = [str(path.resolve()) for path in roots]
    queue = [path for path in queue if not any(str(ancestor) in holes for ancestor in Path(path).parents)]
    while queue:
        path = queue.pop()
        if path in holes:
            continue
        if path not in opened_up:
            covered.append(path)
            continue
        try:
            with os.scandir(path) as entries:
                # a symlink is left out: what it leads to is covered (or hidden) by its own place
                queue += [entry.path for entry in entries if not entry.is_symlink()]
        except OSError:
            continue
    return covered
