"""How much of upstream's change did not arrive: added lines that are missing, removed ones that are still there."""

import functools
from collections import Counter

from headway.core.gates import PASSED, Verdict
from headway.core.reasons import Reason
from headway.sync.rails.facts import FileFacts, Proposal, refused

SMALLEST = 5
"""Changed lines below which a share means nothing."""


def residual_of(files: tuple[FileFacts, ...]) -> tuple[int, int]:
    """(missing, all) changed lines of upstream over these files; formatting does not count."""
    missing = everything = 0
    for file in files:
        base, theirs, result = (_lines(text) for text in (file.base, file.theirs, file.result))
        added, removed = theirs - base, base - theirs
        everything += added.total() + removed.total()
        missing += (added - result).total()
        missing += sum(min(count, max(result[line] - theirs[line], 0)) for line, count in removed.items())
    return missing, everything


def residual(proposal: Proposal) -> Verdict:
    """Refuses a resolution that leaves out more of upstream's change than the bound allows."""
    conflicted = tuple(file for file in proposal.files if file.conflicted)
    missing, everything = residual_of(conflicted)
    if everything >= SMALLEST and missing > proposal.bounds.residual * everything:
        return refused(
            Reason.RESIDUAL,
            f"{missing} of {everything} changed lines of upstream are not in the result "
            f"(at most {proposal.bounds.residual:.0%} may be).",
        )
    return PASSED


@functools.lru_cache(maxsize=32)
def _lines(text: str | None) -> Counter[str]:
    squeezed = ("".join(line.split()).replace('"', "'") for line in (text or "").split("\n"))
    return Counter(line for line in squeezed if len(line) > 2)
