"""A tree with some files replaced, composed by hand: git's way (an index, four processes) costs as much as a merge."""

import os
from collections.abc import Mapping
from pathlib import Path

from headway.adapters.git_objects import FOLDER, ObjectReader, write_loose
from headway.core.names import TreeId
from headway.core.ports.git import Entry

NEW_FILE = "100644"

Content = bytes | None
Entries = dict[bytes, Entry]


class TreeWriter:
    """Writes blobs and trees as loose objects below `objects`; everything else is read through `reader`."""

    def __init__(self, reader: ObjectReader, objects: Path, algorithm: str) -> None:
        self._reader = reader
        self._objects = objects
        self._algorithm = algorithm

    def replaced(self, tree: str, files: Mapping[str, Content]) -> TreeId:
        """`tree` (or a commit's) with these files; None removes one, and a folder goes with its last file.

        A file that exists keeps its mode, a new one is a plain file. Raises ObjectMissing.
        """
        parts = {tuple(os.fsencode(path).split(b"/")): content for path, content in files.items()}
        made = self._folder(self._reader.tree_of(tree), parts)
        return TreeId(made or self._write("tree", b""))

    def _folder(self, tree: str, files: Mapping[tuple[bytes, ...], Content]) -> str | None:
        """The id of the folder with its files replaced; None where nothing is left in it."""
        entries = self._reader.entries_of(tree) if tree else {}
        below: dict[bytes, dict[tuple[bytes, ...], Content]] = {}
        for (name, *rest), content in files.items():
            if rest:
                below.setdefault(name, {})[tuple(rest)] = content
            elif content is None:
                entries.pop(name, None)
            else:
                mode = entries[name].mode if name in entries and entries[name].mode != FOLDER else NEW_FILE
                entries[name] = Entry(mode, self._write("blob", content))
        for name, inside in below.items():
            old = entries[name].oid if name in entries and entries[name].mode == FOLDER else ""
            made = self._folder(old, inside)
            if made is not None:
                entries[name] = Entry(FOLDER, made)
            elif old:
                del entries[name]
        return self._write("tree", _composed(entries)) if entries else None

    def _write(self, kind: str, content: bytes) -> str:
        return write_loose(self._objects, kind, content, self._algorithm)


def _composed(entries: Entries) -> bytes:
    """git sorts a folder as if its name ended with a slash."""
    names = sorted(entries, key=lambda name: name + b"/" if entries[name].mode == FOLDER else name)
    parts = ((entries[name].mode.encode(), name, bytes.fromhex(entries[name].oid)) for name in names)
    return b"".join(b"%s %s\0%s" % part for part in parts)
