"""Everything a side brought in must be there afterwards, and still be called.

The failure behind it: a resolution keeps a new helper and drops its only call. All tests stay green, as none reaches
the helper; only the speed falls.
"""

from collections.abc import Iterable

from headway.core.gates import PASSED, Verdict
from headway.core.reasons import Reason
from headway.sync.rails.facts import FileFacts, Proposal, least_expected, refused
from headway.sync.symbols import Outline

Four = tuple[Outline, Outline, Outline, Outline]


def definition_dropped(proposal: Proposal) -> Verdict:
    """Refuses a resolution without a definition that a side brought in, or that both sides kept.

    git's own clean merges are not asked: they apply every edit of both sides, so they cannot lose one.
    """
    if not any(file.conflicted for file in proposal.files):
        return PASSED
    every = [(file.path, file.outlines()) for file in proposal.files if file.result is not None]
    anywhere = {name for _, (_, _, _, result) in every for name in result.names}
    for path, (base, ours, theirs, _) in every:
        owed = {
            "upstream": theirs.names.keys() - base.names.keys(),
            "the fork": ours.names.keys() - base.names.keys(),
            "either side": base.names.keys() & ours.names.keys() & theirs.names.keys(),
        }
        for side, names in owed.items():
            if lost := sorted(names - anywhere):
                return refused(Reason.DEFINITION_DROPPED, f"{path}: {side} defines {lost[0]}, the result does not.")
    return PASSED


def call_site_dropped(proposal: Proposal) -> Verdict:
    """Refuses a result in which something upstream defines is never used, or has fewer calls than upstream gives it."""
    if not any(file.conflicted for file in proposal.files):
        return PASSED
    every = [(file, file.outlines()) for file in proposal.files if file.result is not None]
    for name in sorted(_new_names(four for _, four in every)):
        upstream = kept = 0
        for file, (_, _, theirs, result) in every:
            _, _, their_uses, result_uses = file.uses()
            upstream += their_uses.mentions[name] - theirs.names[name]
            kept += result_uses.mentions[name] - result.names[name]
        if upstream > 0 and kept <= 0:
            return refused(Reason.CALL_SITE_DROPPED, f"{name}: 0 references (upstream {upstream}).")
    for file, _ in every:
        if file.conflicted and (lost := _fewer_calls(file)):
            return refused(Reason.CALL_SITE_DROPPED, lost)
    return PASSED


def _fewer_calls(file: FileFacts) -> str:
    base, ours, theirs, result = (uses.calls for uses in file.uses())
    for name in (theirs - base).keys():
        needed = least_expected(base[name], ours[name], theirs[name])
        gained = ours[name] + theirs[name] - base[name]
        if result[name] < needed or (ours[name] == 0 and result[name] == 0 and gained > 0):
            return f"{file.path}: {name} is called {result[name]} times (upstream {theirs[name]}, fork {ours[name]})."
    return ""


def _new_names(every: Iterable[Four]) -> set[str]:
    return {name for base, _, theirs, _ in every for name in theirs.names if name not in base.names}
