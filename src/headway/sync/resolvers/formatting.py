"""Sides that are the same but for formatting: then the other side's change is the whole story."""

import re

from headway.sync.conflict import ConflictedFile, Hunk, lines_of
from headway.sync.resolvers.ladder import Answer, Lines, Surroundings
from headway.sync.textmerge import TOKEN, WORD, edits, indent_of, normal

HALF = 0.5


def only_reformatted(hunk: Hunk, file: ConflictedFile, _: Surroundings) -> Answer | None:
    """The fork only reformatted what upstream changed: upstream's change, in the fork's formatting where that can be.

    A single small edit keeps the fork's quotes and line breaks. What upstream rewrote, indented anew, or touched in
    several reformatted places of the file is taken as upstream wrote it, so that the file does not mix two styles
    line by line. Either way the answer is upstream's text but for formatting, which is checked.
    """
    formatter_ran = any(_is_reformatted(other) for other in file.hunks)
    if not (_is_reformatted(hunk) or (formatter_ran and _only_parentheses(hunk))):
        return None
    why = "the fork changed only the formatting here"
    alone = sum(_is_reformatted(other) for other in file.hunks) == 1
    carried = carried_over(hunk.base, hunk.ours, hunk.theirs) if alone and not _indented_anew(hunk) else None
    if carried and normal(carried) == normal(hunk.theirs):
        return Answer(carried, "only_reformatted", why)
    return Answer(hunk.theirs, "only_reformatted", why)


def _is_reformatted(hunk: Hunk) -> bool:
    same = normal(hunk.ours) == normal(hunk.base) and indent_of(hunk.ours) == indent_of(hunk.base)
    return bool(hunk.base) and same


def _only_parentheses(hunk: Hunk) -> bool:
    """Formatters add and drop redundant parentheses; taken for formatting only where one ran over the file."""
    ours, base = (re.sub(r"[()]", "", normal(side)) for side in (hunk.ours, hunk.base))
    return bool(hunk.base) and ours == base and indent_of(hunk.ours) == indent_of(hunk.base)


def _indented_anew(hunk: Hunk) -> bool:
    """A line that upstream kept stands at another indentation now."""
    old = {line.strip(): indent_of([line]) for line in hunk.base if line.strip()}
    return any(line.strip() in old and indent_of([line]) != old[line.strip()] for line in hunk.theirs)


def carried_over(base: Lines, ours: Lines, theirs: Lines) -> Lines | None:
    """Upstream's edits of significant tokens, made in the fork's text; None where too little of the base is left."""
    old, mine, new = (_significant("".join(side)) for side in (base, ours, theirs))
    if not old or [token for token, _, _ in old] != [token for token, _, _ in mine]:
        return None
    changes = edits([token for token, _, _ in old], [token for token, _, _ in new])
    named = [WORD.match(token) is not None for token, _, _ in old]
    lost = sum(sum(named[change.start : change.end]) for change in changes)
    if lost > HALF * sum(named):
        return None
    text, source = "".join(ours), "".join(theirs)
    ends = [*mine, ("", len(text), len(text))]
    at = 0  # index into `new` of the first token of the change
    shift = 0
    for change in changes:
        first = change.start + shift
        piece_end = first + len(change.new)
        inserted = change.start == change.end
        upto = new[piece_end][1] if inserted and piece_end < len(new) else (new[piece_end - 1][2] if change.new else 0)
        piece = source[new[first][1] : upto] if change.new else ""
        start = ends[change.start][1] + at
        stop = start if inserted else mine[change.end - 1][2] + at
        text = text[:start] + piece + text[stop:]
        at += len(piece) - (stop - start)
        shift += len(change.new) - (change.end - change.start)
    return lines_of(text)


def _significant(text: str) -> list[tuple[str, int, int]]:
    """(token with quotes unified, start, end) without blanks and without commas before a closing bracket."""
    found = [
        (match.group(0).replace('"', "'"), match.start(), match.end())
        for match in TOKEN.finditer(text)
        if not match.group(0).isspace()
    ]
    following = [token for token, _, _ in found[1:]] + [""] * bool(found)
    return [
        one for one, after in zip(found, following, strict=True) if not (one[0] == "," and after in ")]}>" and after)
    ]


def same_effect(hunk: Hunk, file: ConflictedFile, _: Surroundings) -> Answer | None:
    """Both sides made the same change, formatted in two ways: keep the fork's."""
    if normal(hunk.ours) != normal(hunk.theirs) or indent_of(hunk.ours) != indent_of(hunk.theirs):
        return None
    return Answer(hunk.ours, "same_effect", "the fork already has upstream's change here, formatted its own way")


def already_there(hunk: Hunk, file: ConflictedFile, _: Surroundings) -> Answer | None:
    """Upstream only adds lines, and the fork's lines at this place hold all of them in order."""
    added = normal(hunk.theirs)
    if hunk.base or len(added) < 12 or added not in normal(hunk.ours):
        return None
    return Answer(hunk.ours, "already_there", "the fork's lines hold upstream's addition whole")
