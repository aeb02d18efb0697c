"""`adopt` as facts for the ledger: what the fork's own people took, or took back, since the ledger last looked."""

from typing import Any

from headway.core.events import Event
from headway.core.events_sync import Disposed, ForkScanned, Reopened
from headway.core.journey import Facts
from headway.core.names import BlobId, Sha
from headway.core.ports.git import Empty
from headway.sync.accounting import Ledger
from headway.sync.adopt import Match, Scan
from headway.sync.history import Range
from headway.sync.presence import proof_of_presence
from headway.sync.reading import Reading
from headway.sync.room import Room


def scan_facts(reading: Reading, ledger: Ledger, line: Range, trunk: Sha) -> Facts:
    """Dispositions for what was found taken; changes whose taking is gone from trunk are pending again."""
    room, found = reading.room, reading.scan(line, trunk)
    evidence = room.keep(_facts_of(found, trunk))
    about: dict[Sha, tuple[Event, ...]] = {}
    for match in found.matches:
        if _overrules(ledger, match):
            about[match.change] = _replaced(ledger, _shown(room, match, trunk, evidence))
    for change in found.merged:
        if change not in ledger.dispositions or ledger.dispositions[change].kind == "deferred":
            about[change] = _replaced(
                ledger, Disposed(change, "already_present", "adopt", "proven", "merged", evidence)
            )
    for change in _taken_back(ledger, found):
        about[change] = (Reopened(change, "adopt", evidence),)
    proven = sum(match.grade == "proven" for match in found.matches) + len(found.merged)
    claimed = sum(match.grade == "claimed" for match in found.matches)
    return room.facts(ForkScanned(trunk, proven, claimed, evidence), about=about)


def gone_with_branch(reading: Reading, ledger: Ledger, line: Range, trunk: Sha) -> dict[Sha, tuple[Event, ...]]:
    """Somebody deleted the landing branch: its picks that trunk holds in no form are pending again, none is lost."""
    landed = {c: old.landed for c, old in ledger.dispositions.items() if old.by == "run" and old.kind == "picked"}
    if not landed:
        return {}
    room, found = reading.room, reading.scan(line, trunk)
    still = {match.change for match in found.matches} | set(found.merged)
    gone = {change: commit for change, commit in landed.items() if commit not in found.fork and change not in still}
    if not gone:
        return {}
    evidence = room.keep({"branch": room.branch_ref, "gone": gone, "trunk": trunk})
    return {change: (Reopened(change, "run", evidence),) for change in gone}


def found_on_branch(reading: Reading, line: Range, branch: Sha, asked: frozenset[Sha]) -> dict[Sha, tuple[Event, ...]]:
    """Picks among those `asked` for that stand on the landing branch by their trailers, unknown to the ledger.

    So it is after a log was lost that a machine with a throw-away disk had not yet sent: nothing is picked twice.
    """
    found = [match for match in reading.scan(line, branch).matches if match.change in asked]
    if not found:
        return {}
    evidence = reading.room.keep({"branch": branch, "found": {match.change: match.commit for match in found}})
    return {
        match.change: (
            Disposed(match.change, "picked", "run", match.grade, "on_branch", evidence, landed=match.commit),
        )
        for match in found
    }


def all_taken(reading: Reading, ledger: Ledger, line: Range, trunk: Sha) -> bool:
    """Whether trunk has every pick of the landing branch in some form (squashed, say), so that the branch is spent."""
    landed = {change for change, old in ledger.dispositions.items() if old.by == "run" and old.kind == "picked"}
    if not landed:
        return False
    found = reading.scan(line, trunk)
    return landed <= {match.change for match in found.matches} | set(found.merged)


def _overrules(ledger: Ledger, match: Match) -> bool:
    old = ledger.dispositions.get(match.change)
    if old is None:
        return match.grade == "proven" or match.change not in ledger.forced
    if old.kind == "deferred":
        return True
    if old.kind == "wont_port":
        return match.grade == "proven"
    return old.grade == "claimed" and match.grade == "proven"


def _taken_back(ledger: Ledger, found: Scan) -> list[Sha]:
    """Picks that stood in trunk and no longer do, because a later commit of the fork reverts them."""
    still = {match.change for match in found.matches} | set(found.merged)
    return [change for change, old in ledger.dispositions.items() if old.landed in found.fork and change not in still]


def _replaced(ledger: Ledger, disposed: Disposed) -> tuple[Event, ...]:
    if disposed.change not in ledger.dispositions:
        return (disposed,)
    return (Reopened(disposed.change, "adopt", disposed.evidence), disposed)


def _shown(room: Room, match: Match, trunk: Sha, evidence: BlobId) -> Disposed:
    """A claim is put to the proof: if picking the change again changes nothing, and content shows why, it is there."""
    if match.grade == "claimed":
        trial = room.merges.pick(match.change, trunk)
        if isinstance(trial, Empty):
            effect = room.history.effects([match.change])[match.change]
            proof, facts = proof_of_presence(room.history, room.merges, match.change, effect, trunk, trial.tree)
            if proof is not None:
                shown = room.keep(facts | {"claimed_by": match.commit, "claim": match.how})
                return Disposed(match.change, "already_present", "adopt", "proven", proof, shown, landed=match.commit)
    return Disposed(match.change, "picked", "adopt", match.grade, match.how, evidence, landed=match.commit)


def _facts_of(found: Scan, trunk: Sha) -> dict[str, Any]:
    matches = {
        match.change: {"commit": match.commit, "grade": match.grade, "how": match.how, "words": list(match.words)}
        for match in found.matches
    }
    return {"trunk": trunk, "fork_commits": len(found.fork), "matches": matches, "merged": list(found.merged)}
