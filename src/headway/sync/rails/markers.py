"""No conflict marker may land, in any kind of file; a line of equal signs may be a heading and passes."""

import re

from headway.core.gates import PASSED, Verdict
from headway.core.reasons import Reason
from headway.sync.rails.facts import Proposal, refused

MARKER = re.compile(r"^(<{7,}|>{7,}|\|{7,})( .*)?$", re.MULTILINE)


def conflict_markers(proposal: Proposal) -> Verdict:
    """Refuses markers that no side had: `<<<<<<<`, `>>>>>>>` and `|||||||` at the start of a line."""
    for file in proposal.files:
        if file.result is None:
            continue
        had = max(len(MARKER.findall(text or "")) for text in (file.base, file.ours, file.theirs))
        found = list(MARKER.finditer(file.result))
        if len(found) > had:
            line = file.result.count("\n", 0, found[0].start()) + 1
            return refused(Reason.MARKERS, f"{file.path}:{line}: a conflict marker is left.")
    return PASSED
