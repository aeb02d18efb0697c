"""Is a candidate a banned package's code in other clothes? Prints of its tokens are looked for in an index.

A print is the hash of a run of tokens in which comments, layout, names and numbers do not count, but what is called
(`tl.dot`, `.to`) and how it is put together does. Of neighbouring prints only the smallest is kept (winnowing), so an
index is small and holds no source: it can lie in a task's folder. Standard library only.

    python3 worker.pyz --index FOLDER --out INDEX.json
"""

import hashlib
import io
import json
import keyword
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .refusals import CouldNotRun, Refused

SCHEMA = "headway.source-index/1"
GRAM, WINDOW = 20, 8
"""Tokens in a print; prints of which one is kept. Any 27 tokens in a row that both have are noticed."""
LEAST_PRINTS = 12
"""A source with fewer is too short to say anything about."""
MOST = 0.6
"""Share of a candidate's prints that an index may hold, where the task names none; docs/lab.md has the figures."""
LAYOUT = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING,
     tokenize.ENDMARKER}
)  # fmt: skip


def prints_of(source: str) -> frozenset[int]:
    """The winnowed prints of a source; what cannot be read as Python has none from there on."""
    tokens = list(_words(source))
    hashes = [
        int.from_bytes(hashlib.blake2b("\0".join(tokens[at : at + GRAM]).encode(), digest_size=6).digest(), "big")
        for at in range(len(tokens) - GRAM + 1)
    ]
    return frozenset(min(hashes[at : at + WINDOW]) for at in range(max(len(hashes) - WINDOW + 1, min(len(hashes), 1))))


def index_of(folder: Path) -> dict[str, Any]:
    """An index of every Python file below a folder. Raises OSError."""
    prints: set[int] = set()
    files = sorted(folder.rglob("*.py"))
    for path in files:
        prints |= prints_of(path.read_text(encoding="utf-8", errors="replace"))
    return {
        "schema": SCHEMA, "package": folder.name, "files": len(files), "gram": GRAM, "window": WINDOW,
        "prints": sorted(f"{one:012x}" for one in prints),
    }  # fmt: skip


def check_likeness(source: str, rules: dict[str, Any], folder: Path) -> None:
    """Refuse a candidate that shares too much with an index of the task; `rules` are `[admission.similar]`."""
    if not rules:
        return
    mine = prints_of(source)
    if len(mine) < LEAST_PRINTS:
        return
    name, known = _read(folder / str(rules["index"]))
    share = len(mine & known) / len(mine)
    if share > float(rules.get("most", MOST)):
        message = f"{share:.0%} of the candidate's structure is that of {name}, which is banned."
        raise Refused("similar", message, "Write the kernel yourself; other names do not make it another kernel.")


def _read(path: Path) -> tuple[str, frozenset[int]]:
    try:
        raw = json.loads(path.read_text())
        if (raw["schema"], raw["gram"], raw["window"]) != (SCHEMA, GRAM, WINDOW):
            raise ValueError("it was made by another version")
        return str(raw["package"]), frozenset(int(one, 16) for one in raw["prints"])
    except (OSError, ValueError, KeyError, TypeError) as trouble:
        message = f"The task's index {path.name} cannot be used: {type(trouble).__name__}: {trouble}."
        raise CouldNotRun("bad_task", message, "Make it again with `headway worker --index`.") from trouble


def _words(source: str) -> Iterator[str]:
    """Tokens that count: keywords, operators and attribute names as they are; other names, numbers and texts alike."""
    before = ""
    statement = True
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in LAYOUT:
                statement = statement or token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
                continue
            if token.type == tokenize.STRING and statement:
                continue  # a text that is a statement: documentation
            statement = False
            word = token.string
            if token.type == tokenize.NAME and not keyword.iskeyword(word) and before != ".":
                word = "n"
            elif token.type == tokenize.NUMBER:
                word = "0"
            elif token.type == tokenize.STRING:
                word = "s"
            before = token.string
            yield word
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return
