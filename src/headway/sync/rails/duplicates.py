"""Nothing may stand twice that stands once on either side, not even after a pick that git calls clean.

git merges `a b c` -> `b a c` (fork) and `a b c` -> `b c a` (upstream) to `b a c a` without a conflict: both removed
the first `a`, which counts once, and each put it somewhere else, which counts twice.
"""

import functools
import re
from collections import Counter

from headway.core.gates import PASSED, Verdict
from headway.core.reasons import Reason
from headway.sync.conflict import lines_of
from headway.sync.languages import is_prose, language_of
from headway.sync.rails.facts import DEFINING, FileFacts, Proposal, most_expected, refused
from headway.sync.symbols import outline_of
from headway.sync.textmerge import words

TELLING = 4
"""Characters of a stripped line below which a repetition says nothing (`}`, `);`)."""
KEYWORDS = frozenset(
    "else try pass break continue return finally default endif end public private protected do const nullptr None"
    " true false True False".split()
)
"""A line of nothing but these is found everywhere."""
NAMED = re.compile(r"(\w+)\s*[(<]|\b(?:def|class|struct|enum|multiclass|defm)\s+(\w+)")
CONTROL = frozenset(("if", "for", "while", "switch", "catch", "return", "sizeof", "template"))
"""Words before a bracket that name nothing."""
REGISTRATION = re.compile(r"[\w\]>)]\s*\(|^\s*(import|from|using|#\s*include)\b|^\s*\"[\w-]+\",?$")


def duplicated(proposal: Proposal) -> Verdict:
    """Refuses definitions that are twice in the result, lines that merging counted twice, and doubled registrations."""
    for file in proposal.files:
        if file.result is None:
            continue
        if name := _twice_defined(file):
            return refused(Reason.DUPLICATED, f"{file.path}: {name} is defined twice.")
        if not is_prose(file.path) and (line := _twice_merged(file)):
            return refused(Reason.DUPLICATED, f"{file.path}: the line {line!r} stands twice, once on either side.")
    return PASSED


def _twice_defined(file: FileFacts) -> str:
    language = language_of(file.path)
    if not file.conflicted and not _both_bring_one(file):
        return ""
    twice = {name: n for name, n in outline_of(file.result or "", language).definitions.items() if n > 1}
    for side in (file.ours, file.theirs):
        if not twice:
            break
        had = outline_of(side or "", language).definitions
        twice = {name: n for name, n in twice.items() if n > had[name]}
    return next(iter(twice), "")


def _both_bring_one(file: FileFacts) -> bool:
    """Both sides have new lines that may define one same name: spares the parser most clean picks."""
    old = frozenset((file.base or "").split("\n"))
    brought = _names_defined_in_new_lines(file.theirs or "", old)
    return bool(brought) and not brought.isdisjoint(_names_defined_in_new_lines(file.ours or "", old))


def _names_defined_in_new_lines(text: str, old: frozenset[str]) -> set[str]:
    """A name may stand up to three lines above the end of its signature."""
    lines = text.split("\n")
    heads = [at for at, line in enumerate(lines) if line not in old and DEFINING.search(line)]
    windows = ("\n".join(lines[max(at - 3, 0) : at + 1]) for at in heads)
    return {one or other for window in windows for one, other in NAMED.findall(window)} - CONTROL


def _twice_merged(file: FileFacts) -> str:
    result = _counted(file.result)
    twice = [line for line, count in result.items() if count > 1 and len(line) >= TELLING and words([line]) - KEYWORDS]
    if not twice:
        return ""
    base, ours, theirs = (_counted(text) for text in (file.base, file.ours, file.theirs))
    for line in twice:
        if result[line] > most_expected(base[line], ours[line], theirs[line]):
            return line
        both_brought_it = (base[line], ours[line], theirs[line], result[line]) == (0, 1, 1, 2)
        if both_brought_it and REGISTRATION.search(line) and _same_block(file, line):
            return line
    return ""


def _same_block(file: FileFacts, line: str) -> bool:
    """Both copies lie in one function or list: the same call in two functions is no duplicate."""
    lines = [one.strip() for one in lines_of(file.result or "")]
    first = lines.index(line)
    second = lines.index(line, first + 1)
    if language_of(file.path) in ("python", "cpp", "c"):
        spans = outline_of(file.result or "", language_of(file.path)).spans
        inner = [
            min(((end - start, start) for start, end, _ in spans if start <= at <= end), default=(0, -1))
            for at in (first, second)
        ]
        return inner[0] == inner[1]
    return second - first < 40


def _counted(text: str | None) -> Counter[str]:
    return _stripped_lines(text or "")


@functools.lru_cache(maxsize=64)
def _stripped_lines(text: str) -> Counter[str]:
    return Counter(map(str.strip, text.split("\n")))
