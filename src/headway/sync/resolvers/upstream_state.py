"""Hunks where the fork never diverged: it only stands at an older upstream state, or lacks the thing altogether."""

from headway.sync.conflict import ConflictedFile, Hunk, around
from headway.sync.languages import language_of
from headway.sync.resolvers.ladder import Answer, Surroundings
from headway.sync.symbols import outline_of
from headway.sync.textmerge import normal, similarity, words

LONGEST = 2
"""Lines of an older state that may simply be moved on: a version, a hash, a flag. Longer ones hide a missing change."""
LEAST_ALIKE = 0.5


def older_upstream_state(hunk: Hunk, file: ConflictedFile, look: Surroundings) -> Answer | None:
    """A line or two that the fork has exactly as upstream once had them: upstream's newer lines replace them."""
    if not hunk.ours or not hunk.base or not len(hunk.ours) == len(hunk.base) == len(hunk.theirs) <= LONGEST:
        return None
    before, after = around(file, hunk, 2)
    shown = (*before, *hunk.ours, *after)
    here, names = normal(shown), words(shown)
    # a formatter joins no words: a state without one of them need not be looked at in full
    states = (state for state in look.upstream_states(file.path) if all(name in state for name in names))
    if not any(here in normal([state]) for state in states):
        return None
    return Answer(hunk.theirs, "older_upstream_state", "the fork stands at an older upstream state of these lines")


def absent_in_fork(hunk: Hunk, file: ConflictedFile, _: Surroundings) -> Answer | None:
    """Upstream edits lines that the fork does not have anywhere: there is nothing here to edit.

    Only for an edit (much of the text stays) that defines nothing new; anything upstream adds would be lost.
    """
    if hunk.ours or len(hunk.base) < LONGEST or similarity(hunk.base, hunk.theirs) < LEAST_ALIKE:
        return None
    fork = {line.strip() for line in (file.ours or "").split("\n")}
    telling = [line.strip() for line in hunk.base if len(line.strip()) > 12]
    if not telling or any(line in fork for line in telling):
        return None
    language = language_of(file.path)
    new = outline_of("".join(hunk.theirs), language).definitions - outline_of("".join(hunk.base), language).definitions
    if new:
        return None
    return Answer((), "absent_in_fork", "the fork has none of the lines that upstream edits here")
