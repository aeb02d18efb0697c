"""What an agent is told of a conflict: both sides' intent, the history around it, how the like was resolved. Pure text.

The conflicted files themselves are the request's `files`; earlier refusals its `refusals`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headway.core.ports.git import Commit, shown_path
from headway.sync.conflict import ConflictedFile, lines_of
from headway.sync.linediff import unified
from headway.sync.resolvers.ladder import Recorded

MESSAGE = 4_000
"""Characters of the change's own message."""
DIFF = 12_000
"""Characters of one side's diff of one file."""
EXAMPLES = 5
"""Earlier resolutions that are shown at most."""
EXAMPLE = 2_000
"""Characters of one of them."""

RULES = """\
Rules that a program checks on your answer; each refusal is told to you with its reason:
- change nothing but the conflicts: every line outside the markers stays as it is, in every file
- leave no conflict marker; the file must parse
- keep every definition and every call that either side brought in, and everything both kept; nothing twice
- delete, skip or weaken no test; keep expected values as one side has them
- the fork's own intent stays; upstream's change arrives, adapted to the fork where the fork differs"""


@dataclass(frozen=True)
class Intent:
    """What is known beside the conflict itself. Commits are newest first."""

    change: Commit
    upstream: Sequence[Commit]
    """Earlier upstream commits that touched the files."""
    fork: Sequence[Commit]
    """The fork's own commits that touched them."""
    examples: Sequence[Recorded]
    """What the fork made of earlier conflicts in these files."""


def context_of(files: Sequence[ConflictedFile], intent: Intent) -> str:
    """The request's context: stable first, the change's own part last."""
    change = intent.change
    names = ", ".join(shown_path(file.path) for file in files)
    parts = [
        "A fork follows an upstream project change by change. git cannot pick this upstream change onto the fork; "
        f"resolve the conflict in: {names}.\n"
        "Between the markers: the fork's lines, the lines before upstream's change, upstream's lines after it.",
        RULES,
        f"The upstream change {change.sha[:12]}:\n{_cut(change.text.strip(), MESSAGE)}",
    ]
    for file in files:
        parts.append(_diff(f"What upstream's change does to {shown_path(file.path)}", file.base, file.theirs))
        parts.append(_diff(f"What the fork has of its own in {shown_path(file.path)}", file.base, file.ours))
    parts.append(_commits("The fork's commits that touched these files, newest first", intent.fork))
    parts.append(_commits("Upstream's earlier commits that touched them, newest first", intent.upstream))
    shown = [_example(one) for one in intent.examples if one.hunk is not None][:EXAMPLES]
    if shown:
        parts.append("How the fork resolved earlier conflicts in these files:\n" + "\n".join(shown))
    return "\n\n".join(part for part in parts if part)


def _diff(title: str, before: str | None, after: str | None) -> str:
    body = "".join(unified(lines_of(before or ""), lines_of(after or ""), around=2))
    return f"{title}:\n{_cut(body, DIFF)}" if body else ""


def _commits(title: str, commits: Iterable[Commit]) -> str:
    lines = []
    for commit in commits:
        body = " ".join(commit.text.partition("\n\n")[2].split())
        lines.append(f"- {commit.sha[:12]} {commit.subject[:200]}" + (f": {body[:300]}" if body else ""))
    return f"{title}:\n" + "\n".join(lines) if lines else ""


def _example(one: Recorded) -> str:
    assert one.hunk is not None
    sides = (("fork", one.hunk.ours), ("upstream before", one.hunk.base), ("upstream after", one.hunk.theirs))
    shown = "".join(f"[{name}]\n{''.join(side)}" for name, side in sides)
    return _cut(f"({one.source[:12]})\n{shown}[resolved as]\n{''.join(one.lines)}", EXAMPLE)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + f"\n[cut: {len(text) - limit} more characters]"
