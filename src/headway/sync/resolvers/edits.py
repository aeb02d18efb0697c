"""Edits of both sides that git sees as one conflict but that do not overlap, by line and by token.

Not overlapping in text is not the same as independent: `independent` refuses where one side's new text uses a name the
other side took away, or both sides introduce the same name.
"""

import functools
import re
from collections.abc import Sequence

from headway.sync.conflict import ConflictedFile, Hunk, lines_of
from headway.sync.languages import is_prose
from headway.sync.resolvers.ladder import Answer, Surroundings
from headway.sync.textmerge import edits, merge3, tokens, words, words_of

MAX_TOKENS = 4000
"""A hunk past this size is no place for a token merge: the alignment means nothing any more."""
MOST_EDITS = 6
"""Scattered edits of one side in one hunk past which that side rewrote it, and a word-by-word merge is a gamble."""
GOLDEN = re.compile(r"\b[A-Z]*CHECK[A-Z0-9_-]*\s*:|\bexpected-(error|warning|note|remark)\b|^\s*assert\b.*==")


def adjacent_lines(hunk: Hunk, file: ConflictedFile, _: Surroundings) -> Answer | None:
    """Whole-line edits that touch each other without overlapping."""
    if not hunk.base or is_prose(file.path) or _golden(hunk):
        return None
    merged = merge3(hunk.base, hunk.ours, hunk.theirs, touching=True)
    if merged is None or _rewritten(hunk) or not independent(hunk, file, merged):  # dearest questions last
        return None
    return Answer(merged, "adjacent_lines", "both sides' lines touch without overlapping")


def separate_tokens(hunk: Hunk, file: ConflictedFile, _: Surroundings) -> Answer | None:
    """Edits inside the same lines, kept apart by at least one token that neither side touched."""
    if not hunk.base or is_prose(file.path) or _golden(hunk):
        return None
    base, ours, theirs = (tokens("".join(side)) for side in (hunk.base, hunk.ours, hunk.theirs))
    if max(len(base), len(ours), len(theirs)) > MAX_TOKENS or not hunk.ours or not hunk.theirs:
        return None
    merged = None if _rewritten(hunk) else merge3(base, ours, theirs, touching=False)
    if merged is None:
        return None
    lines = lines_of("".join(merged))
    if not independent(hunk, file, lines):
        return None
    return Answer(lines, "separate_tokens", "both sides changed different words of these lines")


@functools.lru_cache(maxsize=16)
def _rewritten(hunk: Hunk) -> bool:
    """One side changed this place in so many spots that it is another text now."""
    base = _significant(hunk.base)
    return any(len(edits(base, _significant(side))) > MOST_EDITS for side in (hunk.ours, hunk.theirs))


def _significant(lines: Sequence[str]) -> list[str]:
    return [token.replace('"', "'") for token in tokens("".join(lines)) if not token.isspace() and token != ","]


def _golden(hunk: Hunk) -> bool:
    """A side replaced an expected value that the other side's change may touch: a test run must say which one holds."""
    base = [line for line in hunk.base if GOLDEN.search(line)]
    return any(line not in side for line in base for side in (hunk.ours, hunk.theirs))


def independent(hunk: Hunk, file: ConflictedFile, merged: Sequence[str]) -> bool:
    """False where the merged text mixes names that one side removed or that both sides brought in."""
    ours, base, theirs = words(hunk.ours), words(hunk.base), words(hunk.theirs)
    if (ours - base) & (theirs - base):
        return False
    result = words(merged)
    gone_upstream = (base - theirs) - words_of(file.theirs or "")
    gone_in_fork = (base - ours) - words_of(file.ours or "")
    return not (result & gone_upstream or result & gone_in_fork)
