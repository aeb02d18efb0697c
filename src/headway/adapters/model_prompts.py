"""What a model is told. The instructions and the opening's first part are byte-stable for one purpose and goal."""

import difflib
from typing import Any

from headway.core.ports.agent import Proposal, Request

_COMMON = (
    "Your words are never evidence: a deterministic gate compiles, checks and measures what you propose, and only its "
    "verdict counts. End every turn with the tool `propose`, giving the whole new content of each file you change. "
    "Change nothing but the files you are shown."
)

INSTRUCTIONS: dict[str, str] = {
    "resolve_conflict": "You resolve one merge conflict in a fork of a compiler. Keep the fork's intent and everything "
    "upstream added, and keep each referenced. Never delete, skip or weaken a test. " + _COMMON,
    "optimise": "You optimise the files you are shown against a fixed goal. Read the ledger before you propose: do not "
    "repeat a strategy that failed unless its condition for a retry holds. State one hypothesis. " + _COMMON,
    "group_failures": "You name and group test failures. Put the report into the one file you are shown. " + _COMMON,
    "write_report": "You write a short report from facts that are given. Add no fact. " + _COMMON,
    "fix": "You mend one failing test's cause in a fork of a compiler. Never edit the test. " + _COMMON,
}

PROPOSE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "hypothesis": {"type": "string", "description": "One sentence: what you expect to happen, and why."},
        "parent": {"type": "string", "description": "The id of the attempt or resolution that this one builds on."},
        "deleted": {"type": "array", "items": {"type": "string"}, "description": "Paths of files to take away."},
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
                "required": ["path", "content"],
            },
        },
    },
    "required": ["hypothesis", "files"],
}


CANDIDATE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"files": PROPOSE_SCHEMA["properties"]["files"]},
    "required": ["files"],
}
"""A candidate without its hypothesis, for the tool `evaluate`."""

FILES_BYTES = 120_000
"""Of editable files that are shown whole; the others are named, and the tool `file` shows one."""


REVIEW = (
    "Another model proposed a change towards a fixed goal. In at most three sentences: what will a gate refuse in it, "
    "or why will it be no better? You decide nothing; you may be wrong. If you see nothing wrong, say so."
)


def numbered(number: int, of: int) -> str:
    """The end of an opening where several proposals are asked for at once: all that differs stands last."""
    return f"\n\nThis is proposal {number} of {of} that are asked for at once: take the idea that you rank {number}."


def proposed(request: Request, proposal: Proposal) -> str:
    """What a reviewer is shown: the context, and the proposal as differences."""
    parts = [request.context, f"PROPOSED: {proposal.hypothesis}"]
    for path, content in proposal.files.items():
        before = request.files.get(path, "").splitlines(keepends=True)
        parts.append("".join(difflib.unified_diff(before, content.splitlines(keepends=True), path, path)))
    return "\n\n".join([*parts, *(f"deleted: {path}" for path in proposal.deleted)])


def opening(request: Request) -> str:
    """The first message: the context (its stable part first), the files, then what changes most: the refusals."""
    parts = [request.context]
    room = FILES_BYTES if request.editable else None
    for path, content in request.files.items():
        size = len(content.encode("utf-8", "replace"))
        if room is not None and size > room:
            parts.append(f"<file path={path!r} bytes={size}: not shown here; ask for it/>")
            continue
        room = None if room is None else room - size
        parts.append(f"<file path={path!r}>\n{content}\n</file>")
    if request.refusals:
        parts.append("Refused so far, newest last:\n" + "\n".join(f"- {refusal}" for refusal in request.refusals))
    return "\n\n".join(parts)
