"""A change of a tree, written as what is replaced in which file; `applied` makes the files that a script line gives."""

from dataclasses import dataclass
from pathlib import Path

from headway.core.reasons import Reason


@dataclass(frozen=True, slots=True)
class Edit:
    """`old` stands once in the file and becomes `new`; with no `old` the whole file does (None: it is taken away)."""

    path: str
    new: str | None
    old: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """An honest change: every gate must accept it."""

    name: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Game:
    """A change that makes the number better and nothing else; one of `reasons` must refuse it."""

    name: str
    edits: tuple[Edit, ...]
    reasons: frozenset[Reason]


def game(name: str, *edits: Edit, reasons: tuple[Reason, ...]) -> Game:
    """A game in one call."""
    return Game(name, edits, frozenset(reasons))


def change(name: str, *edits: Edit) -> Change:
    """An honest change in one call."""
    return Change(name, edits)


def swap(path: str, old: str, new: str) -> Edit:
    """Replace one place of a file."""
    return Edit(path, new, old)


def whole(path: str, new: str | None) -> Edit:
    """Replace, add or take away a file."""
    return Edit(path, new)


def applied(tree: Path, edits: tuple[Edit, ...]) -> dict[str, str | None]:
    """The changed files with their whole contents. Raises AssertionError where an edit does not fit the tree."""
    files: dict[str, str | None] = {}
    for edit in edits:
        if edit.old is None or edit.new is None:
            files[edit.path] = edit.new
            continue
        text = files.get(edit.path) or (tree / edit.path).read_text("utf-8")
        assert text.count(edit.old) == 1, f"{edit.path}: {edit.old!r} stands {text.count(edit.old)} times"
        files[edit.path] = text.replace(edit.old, edit.new)
    return files
