"""Several files as one text, so that a candidate of many files is still one source: to keep, compare and show.

    === file: src/app.py
    … its lines …
    === file: notes.txt (no newline at end)
    … its lines …
    === delete: src/old.py

A line of a file that looks like such a head carries a backslash before it. Paths are sorted, so that equal files make
equal texts.
"""

import difflib
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from headway.core.errors import HeadwayError

HEAD = re.compile(r"^=== (file|delete): (\S.*)$")
OPEN_END = " (no newline at end)"
_LOOKS_LIKE_HEAD = re.compile(r"^\\*=== (file|delete): ")
_ESCAPED = re.compile(r"^\\(\\*=== (?:file|delete): )")

Changes = Mapping[str, str | None]
"""Path -> new content, None for a file that is taken away."""


def bundle(files: Mapping[str, str]) -> str:
    """The files as one text. `changes_in` reads it back, byte for byte."""
    parts = []
    for path in sorted(files):
        content = files[path]
        open_end = bool(content) and not content.endswith("\n")
        lines = content.split("\n")
        if not open_end:
            lines = lines[:-1]
        body = "".join(("\\" if _LOOKS_LIKE_HEAD.match(line) else "") + line + "\n" for line in lines)
        parts.append(f"=== file: {path}{OPEN_END if open_end else ''}\n{body}")
    return "".join(parts)


def changes_in(text: str) -> Changes:
    """Paths with their contents. Raises HeadwayError, one sentence, for a text that is no bundle."""
    changes: dict[str, str | None] = {}
    current: list[str] = []
    path, open_end = "", False

    def close() -> None:
        if path:
            content = "".join(f"{line}\n" for line in current)
            changes[path] = content.removesuffix("\n") if open_end else content

    lines = text.split("\n")
    for number, line in enumerate(lines[:-1] if text.endswith("\n") else lines, 1):
        if (head := HEAD.match(line)) is None:
            if not path and line.strip():
                raise HeadwayError(
                    f"Line {number} of the candidate stands before any file.", "Begin with `=== file: PATH`."
                )
            current.append(_ESCAPED.sub(r"\1", line))
            continue
        close()
        path, current, open_end = checked_path(head[2].removesuffix(OPEN_END)), [], head[2].endswith(OPEN_END)
        if path in changes:
            raise HeadwayError(f"The candidate gives {path} twice.", "Give each file once.")
        if head[1] == "delete":
            changes[path], path = None, ""
    close()
    return changes


def files_in(text: str) -> dict[str, str]:
    """The contents of a bundle that takes nothing away."""
    return {path: content for path, content in changes_in(text).items() if content is not None}


def checked_path(path: str) -> str:
    """The path, if it stays inside its folder. Raises HeadwayError."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or str(pure) != path or path == "." or "\0" in path:
        raise HeadwayError(f"{path[:80]!r} is no path inside the tree.", "Give it relative, without `.` and `..`.")
    return path


def patch_between(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """What turns one set of files into the other, for `git apply` or `patch -p1`."""
    parts = []
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old != new:
            head = (f"a/{path}" if old is not None else "/dev/null", f"b/{path}" if new is not None else "/dev/null")
            lines = difflib.unified_diff((old or "").splitlines(True), (new or "").splitlines(True), *head)
            parts.append(
                "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
            )
    return "".join(parts)
