"""Everything a side brought in must be there afterwards, and still be called.

The failure behind it: a resolution keeps a new helper and drops its only call. All tests stay green, as none reaches
the helper; only the speed falls.
"""

from headway.core.gates import PASSED, Verdict
from headway.core.reasons import Reason
from headway.sync.languages import language_of
from headway.sync.rails.facts import FileFacts, Proposal, brings_definitions, least_expected, refused
from headway.sync.symbols import outline_of


def definition_dropped(proposal: Proposal) -> Verdict:
    """Refuses a resolution without a definition that a side brought in, or that both sides kept.

    git's own clean merges owe nothing: they apply every edit of both sides, so they cannot lose one. A definition that
    is gone from its file may stand in another one of the pick: it moved.
    """
    for file in _conflicted(proposal):
        base, ours, theirs, result = (outline.names.keys() for outline in file.outlines())
        owed = {"upstream": theirs - base, "the fork": ours - base, "either side": base & ours & theirs}
        for side, names in owed.items():
            for name in sorted(names - result):
                if not _stands_elsewhere(proposal, name):
                    return refused(
                        Reason.DEFINITION_DROPPED, f"{file.path}: {side} defines {name}, the result does not."
                    )
    return PASSED


def call_site_dropped(proposal: Proposal) -> Verdict:
    """Refuses a result in which something upstream defines is never used, or has fewer calls than upstream gives it."""
    conflicted = _conflicted(proposal)
    if not conflicted:
        return PASSED
    for name in sorted(_new_names(proposal)):
        upstream = kept = 0
        for file in proposal.files:
            if name not in (file.theirs or "") and name not in (file.result or ""):
                continue
            _, _, theirs, result = file.outlines()
            _, _, their_uses, result_uses = file.uses()
            upstream += their_uses.mentions[name] - theirs.names[name]
            kept += result_uses.mentions[name] - result.names[name]
        if upstream > 0 and kept <= 0:
            return refused(Reason.CALL_SITE_DROPPED, f"{name}: 0 references (upstream {upstream}).")
    for file in conflicted:
        if lost := _fewer_calls(file):
            return refused(Reason.CALL_SITE_DROPPED, lost)
    return PASSED


def _conflicted(proposal: Proposal) -> list[FileFacts]:
    return [file for file in proposal.files if file.conflicted]


def _stands_elsewhere(proposal: Proposal, name: str) -> bool:
    return any(name in file.outlines()[3].names for file in proposal.files if name in (file.result or ""))


def _fewer_calls(file: FileFacts) -> str:
    base, ours, theirs, result = (uses.calls for uses in file.uses())
    for name in (theirs - base).keys():
        needed = least_expected(base[name], ours[name], theirs[name])
        gained = ours[name] + theirs[name] - base[name]
        if result[name] < needed or (ours[name] == 0 and result[name] == 0 and gained > 0):
            return f"{file.path}: {name} is called {result[name]} times (upstream {theirs[name]}, fork {ours[name]})."
    return ""


def _new_names(proposal: Proposal) -> set[str]:
    """What upstream defines and its parent did not, in any file of the pick that brings definitions."""
    found: set[str] = set()
    for file in proposal.files:
        if file.conflicted or brings_definitions(file):
            language = language_of(file.path)
            base, theirs = (outline_of(text or "", language) for text in (file.base, file.theirs))
            found |= theirs.names.keys() - base.names.keys()
    return found
