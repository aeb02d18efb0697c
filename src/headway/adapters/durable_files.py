"""Writing files so that they survive a power cut, and saying in one sentence that a disk is full."""

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.core.errors import CouldNotRun, HeadwayError


class DiskFull(CouldNotRun):
    """The file system has no room (reason code `disk_full`). Nothing was written, nothing was decided."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"The disk that holds {path} is full: nothing was written.",
            "Make room there (or use --state) and try again.",
        )


@contextmanager
def files_explained(path: Path) -> Iterator[None]:
    """Turn operating-system trouble with `path` into one sentence: a full disk, or what the system says."""
    try:
        yield
    except OSError as trouble:
        if trouble.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(path) from trouble
        raise HeadwayError(
            f"Cannot use {path}: {trouble.strerror or trouble}.", "Check the path and its owner."
        ) from trouble


def write_durably(
    path: Path, content: bytes, temporary: Path, *, before_rename: Callable[[], None] = lambda: None
) -> None:
    """Write `content` as `temporary` (on the same file system), fsync it, rename it to `path`, fsync the folder."""
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        before_rename()
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_text_durably(path: Path, lines: Iterable[str]) -> None:
    """Write lines to `path`, whole or not at all. Raises DiskFull, and HeadwayError for a path that cannot be."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with files_explained(path):
        try:
            with temporary.open("w", encoding="utf-8") as file:
                file.writelines(lines)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make names in `folder` durable; a file's own fsync does not."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_file(path: Path) -> None:
    """Make the content of a file that somebody else wrote durable."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
