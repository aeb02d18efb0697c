"""Resolutions made before: by a person through headway, or found in the fork's own earlier history."""

import hashlib

from headway.sync.conflict import ConflictedFile, Hunk
from headway.sync.resolvers.ladder import Answer, Recorded, Surroundings
from headway.sync.textmerge import normal

SHORTEST = 16
"""Characters of formatting-free text below which a conflict is too common to be recognised."""


def conflict_key(hunk: Hunk) -> str:
    """The same for the same three sides whatever the file is called and however they are formatted."""
    sides = "\0".join(normal(side) for side in (hunk.ours, hunk.base, hunk.theirs))
    return hashlib.sha256(sides.encode("utf-8", "surrogateescape")).hexdigest()


def learn(hunk: Hunk, landed: tuple[str, ...], source: str) -> Recorded | None:
    """A recorded resolution, or None where the conflict is too small to be told from another."""
    if len(normal(hunk.ours) + normal(hunk.base) + normal(hunk.theirs)) < SHORTEST:
        return None
    return Recorded(conflict_key(hunk), landed, source, hunk)


def recorded(hunk: Hunk, file: ConflictedFile, look: Surroundings) -> Answer | None:
    """The one answer that all earlier resolutions of this very conflict agree on."""
    found = look.recorded(conflict_key(hunk))
    answers = {normal(one.lines) for one in found}
    if len(answers) != 1:
        return None
    newest = found[0]
    return Answer(newest.lines, "recorded", f"this conflict was resolved so before ({newest.source[:12]})")
