"""Both sides added something at the same place: imports and includes, list and registry entries, definitions."""

import re

from headway.sync.conflict import ConflictedFile, Hunk, around
from headway.sync.languages import is_prose, language_of
from headway.sync.resolvers.ladder import Answer, Lines, Surroundings
from headway.sync.symbols import outline_of
from headway.sync.textmerge import normal, similarity, words

IMPORT = re.compile(r"^\s*(#\s*include\b|import\s|from\s+\S+\s+import\b|using\s+\w+\s*=)")
PROSE_LINE = re.compile(r"^\s*[A-Z`].*[a-z]\s.*[a-z.,:]$")
MOST_ALIKE = 0.35


def both_added_imports(hunk: Hunk, file: ConflictedFile, _: Surroundings) -> Answer | None:
    """Import or include lines from both sides: their union, sorted where the neighbourhood is sorted."""
    lines = (*hunk.ours, *hunk.theirs)
    if hunk.base or not hunk.ours or not hunk.theirs or not all(IMPORT.match(line) for line in lines):
        return None
    union = tuple(dict.fromkeys(lines))
    before, after = around(file, hunk)
    run = [line for line in (*before, *after) if IMPORT.match(line)]
    inside = sorted(union) if run == sorted(run) else union
    return Answer(tuple(inside), "both_added_imports", "both sides added imports here")


def both_added(hunk: Hunk, file: ConflictedFile, _: Surroundings) -> Answer | None:
    """Two unlike additions at one place: the fork's, then upstream's. Unsure about prose, twins and shared names."""
    if hunk.base or not hunk.ours or not hunk.theirs or is_prose(file.path):
        return None
    if similarity(hunk.ours, hunk.theirs) > MOST_ALIKE or _shared_lines(hunk):
        return None
    if _unclosed(hunk.ours) or _unclosed(hunk.theirs) or _is_prose(hunk, file):
        return None
    language = language_of(file.path)
    ours, theirs = outline_of("".join(hunk.ours), language), outline_of("".join(hunk.theirs), language)
    if set(ours.names) & set(theirs.names) or _already_in_fork(hunk, file):
        return None
    return Answer(_joined(hunk.ours, hunk.theirs), "both_added", "both sides added different things here")


def _joined(first: Lines, second: Lines) -> Lines:
    """A missing newline at the end of the first block would glue two lines together."""
    if first[-1].endswith("\n"):
        return (*first, *second)
    return (*first[:-1], first[-1] + "\n", *second)


def _shared_lines(hunk: Hunk) -> bool:
    """A telling line in both additions: one is a variant of the other."""
    telling = {line.strip() for line in hunk.ours if len(line.strip()) > 12 and words([line])}
    return any(line.strip() in telling for line in hunk.theirs)


def _unclosed(lines: Lines) -> bool:
    text = "".join(lines)
    return any(text.count(pair[0]) != text.count(pair[1]) for pair in ("()", "[]", "{}"))


def _is_prose(hunk: Hunk, file: ConflictedFile) -> bool:
    """Sentences (a description in a .td file, a docstring): their order is a writer's business."""
    lines = [line for line in (*hunk.ours, *hunk.theirs) if line.strip()]
    prose = sum(PROSE_LINE.match(line.rstrip("\n")) is not None for line in lines)
    return prose * 2 >= len(lines)


def _already_in_fork(hunk: Hunk, file: ConflictedFile) -> bool:
    """Upstream's addition, or what it defines, is elsewhere in the fork's file."""
    whole = normal([file.ours or ""])
    added = normal(hunk.theirs)
    if len(added) >= 12 and added in whole:
        return True
    language = language_of(file.path)
    defined = outline_of("".join(hunk.theirs), language).definitions
    return bool(set(defined) & set(outline_of(file.ours or "", language).definitions))
