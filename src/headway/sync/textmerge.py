"""Three-way merge of lists (lines or tokens), and what "the same but for formatting" means. Pure."""

import difflib
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

TOKEN = re.compile(r"[^\W\d]\w*|\d[\w.]*|[ \t]+|\n|.", re.DOTALL)
WORD = re.compile(r"[^\W\d]\w*")
COMMENT_LEADER = re.compile(r"^\s*(//+|#(?!\s*(?:include|if|else|elif|endif|define|undef|pragma)\b))")


@dataclass(frozen=True, slots=True)
class Edit:
    """`base[start:end]` is replaced by `new`; an insertion has start == end."""

    start: int
    end: int
    new: tuple[str, ...]


def edits(base: Sequence[str], side: Sequence[str]) -> list[Edit]:
    """What turns `base` into `side`, in order."""
    codes = difflib.SequenceMatcher(None, base, side, autojunk=False).get_opcodes()
    return [Edit(i1, i2, tuple(side[j1:j2])) for tag, i1, i2, j1, j2 in codes if tag != "equal"]


def merge3(
    base: Sequence[str], ours: Sequence[str], theirs: Sequence[str], *, touching: bool
) -> tuple[str, ...] | None:
    """Both sides' edits applied to `base`; None if they overlap.

    `touching=True` accepts edits that meet without overlapping (git calls these a conflict), and keeps an insertion
    that meets a deletion. Two different insertions at one place have no order that can be known: None.
    """
    merged: list[str] = []
    position = 0
    queue = sorted(
        {(edit.start, edit.end, edit.new): edit for edit in (*edits(base, ours), *edits(base, theirs))}.values(),
        key=lambda edit: (edit.start, edit.end),
    )
    previous: Edit | None = None
    for edit in queue:
        if edit.start < position or (previous is not None and not _compatible(previous, edit, touching)):
            return None
        merged.extend(base[position : edit.start])
        merged.extend(edit.new)
        position = edit.end
        previous = edit
    merged.extend(base[position:])
    return tuple(merged)


def _compatible(first: Edit, second: Edit, touching: bool) -> bool:
    if second.start > first.end:
        return True
    if not touching or first.start == second.start == first.end == second.end:
        return False
    inserted, other = (first, second) if first.start == first.end else (second, first)
    if inserted.start == inserted.end:
        return not other.new  # an insertion beside a pure deletion stays; beside a rewrite it is anybody's guess
    return True


def tokens(text: str) -> tuple[str, ...]:
    """Words, numbers, runs of blanks, newlines, and every other character on its own."""
    return tuple(TOKEN.findall(text))


def words(lines: Sequence[str]) -> set[str]:
    """Identifiers in the lines, comments included."""
    return set(WORD.findall("".join(lines)))


@functools.lru_cache(maxsize=32)
def words_of(text: str) -> frozenset[str]:
    """Identifiers in a whole text; many hunks ask for the same file."""
    return frozenset(WORD.findall(text))


def lines_with(text: str, signs: Sequence[str]) -> list[str]:
    """The lines (without newline) that hold one of the words, each once, in order."""
    starts: set[int] = set()
    for sign in signs:
        at = text.find(sign)
        while at >= 0:
            starts.add(text.rfind("\n", 0, at) + 1)
            end = text.find("\n", at)
            at = text.find(sign, end) if end >= 0 else -1
    ends = ((at, text.find("\n", at)) for at in sorted(starts))
    return [text[at : end if end >= 0 else len(text)] for at, end in ends]


def normal(lines: Sequence[str]) -> str:
    """The lines without what a formatter may change: blanks, line breaks, quote style, trailing commas, comment reflow.

    Code that was commented out is not equal to the code: one comment leader per block stays.
    """
    kept: list[str] = []
    in_comment = False
    for line in lines:
        found = COMMENT_LEADER.match(line)
        kept.append(line[found.end() :] if found and in_comment else line)
        in_comment = found is not None
    text = re.sub(r"\\\n", "", "".join(kept)).replace('"', "'")
    text = re.sub(r"\s+", "", text)
    return re.sub(r",([)\]}>])", r"\1", text)


def indent_of(lines: Sequence[str]) -> str:
    """Leading blanks of the first line that is not blank."""
    for line in lines:
        if line.strip():
            return line[: len(line) - len(line.lstrip())]
    return ""


def similarity(left: Sequence[str], right: Sequence[str]) -> float:
    """0..1 over stripped lines that are not blank."""
    a = [line.strip() for line in left if line.strip()]
    b = [line.strip() for line in right if line.strip()]
    if not a or not b:
        return 0.0
    return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
