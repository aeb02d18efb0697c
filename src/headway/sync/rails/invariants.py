"""What the fork said must always hold."""

import re
from fnmatch import fnmatchcase

from headway.core.config import Invariant
from headway.core.gates import PASSED, Verdict
from headway.core.reasons import Reason
from headway.sync.rails.facts import Proposal, refused


def concerns(invariant: Invariant, path: str) -> bool:
    """One of the invariant's globs names the path (`*` crosses folders, as in git's own pathspecs)."""
    return any(fnmatchcase(path, glob) for glob in invariant.paths)


def invariant_broken(proposal: Proposal) -> Verdict:
    """Refuses a file where an invariant's pattern is found less often than the fork has it."""
    for file in proposal.files:
        for invariant in proposal.invariants:
            if file.ours is None or not concerns(invariant, file.path):
                continue
            pattern = re.compile(invariant.pattern, re.MULTILINE)
            had, has = len(pattern.findall(file.ours)), len(pattern.findall(file.result or ""))
            if has < had:
                return refused(
                    Reason.INVARIANT_BROKEN,
                    f"{file.path}: {invariant.pattern!r} is found {has} times (the fork has it {had} times)."
                    + (f" {invariant.reason}" if invariant.reason else ""),
                    "Keep what the invariant asks for, or change the invariant in headway.toml.",
                )
    return PASSED
