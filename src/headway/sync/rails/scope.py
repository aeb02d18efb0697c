"""Only what was in conflict may change."""

from headway.core.gates import PASSED, Verdict
from headway.core.reasons import Reason
from headway.sync.conflict import Hunk, Segment, lines_of
from headway.sync.rails.facts import Proposal, refused


def outside_conflict(proposal: Proposal) -> Verdict:
    """Refuses a change of a file git merged by itself, or of merged lines around a hunk."""
    for file in proposal.files:
        if (
            file.conflicted
            and file.result is not None
            and not _keeps_merged_lines(file.segments, lines_of(file.result))
        ):
            return refused(Reason.OUTSIDE_CONFLICT, f"{file.path}: lines outside the conflict were changed.")
        if not file.conflicted and file.merged is not None and file.result != file.merged:
            return refused(Reason.OUTSIDE_CONFLICT, f"{file.path}: git merged this file, and the proposal changes it.")
    return PASSED


def _keeps_merged_lines(segments: tuple[Segment, ...], lines: tuple[str, ...]) -> bool:
    """The merged segments must be found in order, the first at the start and the last at the end."""
    merged = [segment for segment in segments if not isinstance(segment, Hunk)]
    first, last = merged[0], merged[-1]
    if lines[: len(first)] != first or len(first) + len(last) > len(lines):
        return False
    end = len(lines) - len(last)
    if lines[end:] != last:
        return False
    at = len(first)
    for segment in merged[1:-1]:
        found = next((i for i in range(at, end - len(segment) + 1) if lines[i : i + len(segment)] == segment), None)
        if found is None:
            return False
        at = found + len(segment)
    return True
