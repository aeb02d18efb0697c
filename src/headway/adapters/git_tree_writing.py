"""A tree with some files replaced, composed by hand: git's way (an index, four processes) costs as much as a merge."""

import os
from collections.abc import Mapping
from pathlib import Path

from headway.adapters.git_objects import ObjectReader, write_loose
from headway.core.names import TreeId

FOLDER = b"40000"
NEW_FILE = b"100644"

Content = bytes | None
Entries = dict[bytes, tuple[bytes, bytes]]
"""Name -> (mode, raw object id)."""


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
        return TreeId(made.hex() if made is not None else self._write("tree", b"").hex())

    def _folder(self, tree: str, files: Mapping[tuple[bytes, ...], Content]) -> bytes | None:
        """The raw id of the folder with its files replaced; None where nothing is left in it."""
        entries = _parsed(self._reader.read(tree)[2], len(tree) // 2) if tree else {}
        below: dict[bytes, dict[tuple[bytes, ...], Content]] = {}
        for (name, *rest), content in files.items():
            if rest:
                below.setdefault(name, {})[tuple(rest)] = content
            elif content is None:
                entries.pop(name, None)
            else:
                mode = entries[name][0] if name in entries and entries[name][0] != FOLDER else NEW_FILE
                entries[name] = (mode, self._write("blob", content))
        for name, inside in below.items():
            mode, oid = entries.get(name, (b"", b""))
            made = self._folder(oid.hex() if mode == FOLDER else "", inside)
            if made is not None:
                entries[name] = (FOLDER, made)
            elif mode == FOLDER:
                del entries[name]
        return self._write("tree", _composed(entries)) if entries else None

    def _write(self, kind: str, content: bytes) -> bytes:
        return bytes.fromhex(write_loose(self._objects, kind, content, self._algorithm))


def _parsed(content: bytes, size: int) -> Entries:
    """A tree object's entries; `size` is that of a raw object id."""
    entries: Entries = {}
    at = 0
    while at < len(content):
        space, end = content.index(b" ", at), content.index(b"\0", at)
        entries[content[space + 1 : end]] = (content[at:space], content[end + 1 : end + 1 + size])
        at = end + 1 + size
    return entries


def _composed(entries: Entries) -> bytes:
    """git sorts a folder as if its name ended with a slash."""
    names = sorted(entries, key=lambda name: name + b"/" if entries[name][0] == FOLDER else name)
    return b"".join(b"%s %s\0%s" % (entries[name][0], name, entries[name][1]) for name in names)
