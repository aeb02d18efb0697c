"""Where the `command` agent's program works: a folder with the editable files, or a whole clone; and what changed."""

import contextlib
import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.model_prompts import opening
from headway.core.command_task import matches
from headway.core.ports.agent import Request
from headway.core.ports.workspace import Checkout

REQUEST_FILE = "REQUEST.md"
HYPOTHESIS_FILE = "HYPOTHESIS.md"
"""A CLI may leave one sentence here; it becomes the strategy's hypothesis."""
OVER = "The proposal is over the {} bytes allowed."

_HOW = (
    "You work in this folder. Change the files you were given in place; nothing else you write is taken. You may leave "
    f"your hypothesis as one sentence in {HYPOTHESIS_FILE}. Nobody can answer questions."
)
_HOW_IN_CLONE = (
    "You work in a clone of the project. Edit the files in conflict in place, and no other tracked file; new files are "
    "not taken. Do not commit. You may leave your reason as one sentence in {}. Nobody can answer questions."
)


@dataclass(frozen=True, slots=True)
class Changes:
    """New contents, paths that are gone, or a `complaint` about what cannot be taken."""

    files: Mapping[str, str]
    deleted: tuple[str, ...] = ()
    complaint: str = ""


class FilesAlone:
    """A folder with the editable files and what a program may want to read beside them; the request lies there too."""

    hidden: tuple[Path, ...] = ()
    readable_inside: tuple[Path, ...] = ()

    def __init__(self, path: Path, request: Request) -> None:
        self.path = path
        self._request = request
        if request.beside is not None:
            shutil.copytree(request.beside, path, dirs_exist_ok=True)
            for there in _files_of(path):
                if _may_edit(request, there):
                    (path / there).unlink()
        for name, content in request.files.items():
            file = path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)

    def how(self, _: Path) -> str:
        """What the program is told of its folder."""
        return _HOW

    def shown(self) -> str:
        """What it is told of the task."""
        return opening(self._request)

    def changes(self, limit: int) -> Changes:
        """The editable files whose content is another now, and those that came or went where the task lets them."""
        found: dict[str, str] = {}
        size = 0
        for name, before in self._request.files.items():
            path = self.path / name
            if self._request.editable and not path.exists() and not path.is_symlink():
                continue  # taken away, which where many files are editable is a change like any other
            content, complaint = _content(self.path, name)
            size += len(content)
            if complaint or size > limit:
                return Changes({}, (), complaint or f"The proposal is larger than the {limit} bytes allowed.")
            try:
                after = content.decode("utf-8")
            except UnicodeDecodeError:
                return Changes({}, (), f"The agent left {name} in another encoding than UTF-8.")
            if after != before:
                found[name] = after
        added, gone = _added_and_gone(self.path, self._request)
        found |= added
        size = sum(len(content.encode("utf-8", "replace")) for content in found.values())
        return Changes({}, (), OVER.format(limit)) if size > limit else Changes(found, gone)


class WholeClone:
    """A clone of the project. New files are not taken; git is not asked (its settings there are the program's)."""

    def __init__(self, checkout: Checkout, request: Request) -> None:
        self.path = checkout.path
        self.hidden, self.readable_inside = checkout.hidden, checkout.readable_inside
        self._request = request
        self._tracked = checkout.tracked
        self._before = {name: _digest(checkout.path / name) for name in checkout.tracked}

    def how(self, desk: Path) -> str:
        """What the program is told of its folder."""
        return _HOW_IN_CLONE.format(desk / HYPOTHESIS_FILE)

    def shown(self) -> str:
        """What it is told of the task: the files' names, since the files themselves are there."""
        names = "\n".join(f"- {name}" for name in self._request.files)
        parts = [self._request.context, f"Files in conflict, with markers, in this clone:\n{names}"]
        if self._request.refusals:
            parts.append(
                "Refused so far, newest last:\n" + "\n".join(f"- {refusal}" for refusal in self._request.refusals)
            )
        return "\n\n".join(parts)

    def changes(self, limit: int) -> Changes:
        """Every tracked file whose content is another now; bytes that are not UTF-8 travel as surrogates."""
        found: dict[str, str] = {}
        size = 0
        for name in self._tracked:
            if _digest(self.path / name) == self._before[name]:
                continue
            content, complaint = _content(self.path, name)
            size += len(content)
            if complaint or size > limit:
                return Changes({}, (), complaint or OVER.format(limit))
            found[name] = content.decode("utf-8", "surrogateescape")
        return Changes(found)


def _content(folder: Path, name: str) -> tuple[bytes, str]:
    path = folder / name
    # a link would let the proposal hold whatever the link points to outside the folder
    if path.is_symlink() or not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
        return b"", f"The agent removed {name} or put something else in its place."
    return path.read_bytes(), ""


def _digest(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _added_and_gone(folder: Path, request: Request) -> tuple[dict[str, str], tuple[str, ...]]:
    """Where a task lets files come and go: new ones of its patterns that are text, and those that are gone."""
    if not request.editable:
        return {}, ()
    added = {}
    for path in _files_of(folder):
        if path not in request.files and path not in (REQUEST_FILE, HYPOTHESIS_FILE) and _may_edit(request, path):
            with contextlib.suppress(UnicodeDecodeError):
                added[path] = (folder / path).read_bytes().decode("utf-8")
    gone = tuple(name for name in request.files if not (folder / name).exists() and not (folder / name).is_symlink())
    return added, gone


def _files_of(folder: Path) -> list[str]:
    """Plain files below a folder; links are followed nowhere."""
    return [
        (Path(place) / name).relative_to(folder).as_posix()
        for place, _, names in os.walk(folder)
        for name in names
        if not (Path(place) / name).is_symlink()
    ]


def _may_edit(request: Request, path: str) -> bool:
    return matches(path, request.editable) and not matches(path, request.frozen)
