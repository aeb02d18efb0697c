"""What one side of a long file changed, as a unified diff. Pure, and linear where lines are unique, as they mostly are.

difflib alone takes ten seconds for a file of 20,000 lines of which 500 differ. Lines that stand exactly once on both
sides are matched first (as git's patience diff does); difflib is left with the short stretches between them.
"""

import bisect
import difflib
from collections import Counter
from collections.abc import Iterator, Sequence

from headway.sync.textmerge import Edit


def line_edits(before: Sequence[str], after: Sequence[str]) -> list[Edit]:
    """What turns `before` into `after`, in order; edits are as small as the matched lines allow."""
    found: list[Edit] = []
    i = j = 0
    for left, right in (*_anchors(before, after), (len(before), len(after))):
        found += _between(before, after, (i, left), (j, right))
        i, j = left + 1, right + 1
    return found


def unified(before: Sequence[str], after: Sequence[str], around: int) -> Iterator[str]:
    """Hunks of a unified diff without its two head lines; every line ends with a newline."""
    for group in _groups(line_edits(before, after), 2 * around):
        first, last = group[0], group[-1]
        begin, end = max(first[0].start - around, 0), min(last[0].end + around, len(before))
        new_begin = begin + first[1]
        count = end - begin + sum(len(edit.new) - (edit.end - edit.start) for edit, _ in group)
        yield f"@@ -{_span(begin, end - begin)} +{_span(new_begin, count)} @@\n"
        at = begin
        for edit, _ in group:
            yield from (_ended(f" {line}") for line in before[at : edit.start])
            yield from (_ended(f"-{line}") for line in before[edit.start : edit.end])
            yield from (_ended(f"+{line}") for line in edit.new)
            at = edit.end
        yield from (_ended(f" {line}") for line in before[at:end])


def _groups(edits: Sequence[Edit], near: int) -> Iterator[list[tuple[Edit, int]]]:
    """Edits at most `near` lines apart belong to one hunk; each comes with how far it shifts what is before it."""
    group: list[tuple[Edit, int]] = []
    shift = 0
    for edit in edits:
        if group and edit.start - group[-1][0].end > near:
            yield group
            group = []
        group.append((edit, shift))
        shift += len(edit.new) - (edit.end - edit.start)
    if group:
        yield group


def _anchors(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """The longest run of lines, rising on both sides, that stand exactly once on each."""
    once = {line for line, count in Counter(before).items() if count == 1}
    once &= {line for line, count in Counter(after).items() if count == 1}
    where = {line: at for at, line in enumerate(after) if line in once}
    pairs = [(at, where[line]) for at, line in enumerate(before) if line in once]
    tops: list[int] = []
    piles: list[int] = []
    below: list[int] = []
    for number, (_, right) in enumerate(pairs):
        pile = bisect.bisect_left(tops, right)
        below.append(piles[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [right]
        piles[pile : pile + 1] = [number]
    chain: list[tuple[int, int]] = []
    number = piles[-1] if piles else -1
    while number >= 0:
        chain.append(pairs[number])
        number = below[number]
    return chain[::-1]


def _between(
    before: Sequence[str], after: Sequence[str], left: tuple[int, int], right: tuple[int, int]
) -> Iterator[Edit]:
    """Edits of one stretch without an anchor; nothing for two equal ones."""
    mine, theirs = before[slice(*left)], after[slice(*right)]
    if mine == theirs:
        return
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, mine, theirs, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Edit(left[0] + i1, left[0] + i2, tuple(theirs[j1:j2]))


def _span(begin: int, count: int) -> str:
    """As diff has it: from 1; an empty span names the line before it; a single line has no count."""
    if count == 1:
        return f"{begin + 1}"
    return f"{begin + 1 if count else begin},{count}"


def _ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n"
