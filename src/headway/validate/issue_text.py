"""The words of a tracking issue: facts first, suspects beside them, an agent's words apart and marked as such. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from headway.core.events_validate_tiers import CulpritAnswered, FindingTriaged
from headway.core.names import Sha
from headway.validate.failures import Suspicion

SHOWN = 30
_HARMLESS = str.maketrans({"`": "'", "<": "‹", ">": "›", "[": "(", "]": ")", "@": "@\u200b", "#": "#\u200b"})
CAUSES = {
    "code": "the code",
    "method": "the method: what measures changed, not what is measured",
    "hardware": "the machine or its software, not the tree",
    "noise": "noise",
    "infrastructure": "infrastructure",
    "unknown": "not known",
}


@dataclass(frozen=True, slots=True)
class Suspect:
    """A commit as people know it."""

    commit: Sha
    subject: str
    author: str


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything an issue says. `seen` are (revision, what was seen) of the newest runs, newest last."""

    suspicion: Suspicion
    finding: FindingTriaged
    why: str
    answer: CulpritAnswered | None
    suspects: tuple[Suspect, ...]
    owners: tuple[str, ...]
    revision: Sha
    seen: Sequence[tuple[str, str]]
    words: str = ""
    """An agent's, for people; never evidence."""
    fix: str = ""
    """A branch with a proposed fix that passed the rails and L1."""


def body_of(facts: Facts) -> str:
    """Markdown. What tests print stands in code blocks, where it can be neither markup nor a mention."""
    one = facts.suspicion
    lines = [
        f"Suite `{one.suite}`, signature `{one.signature}`, last seen on `{facts.revision}`.",
        "",
        *_fenced(one.words),
        "",
        f"**Put down to** {CAUSES[facts.finding.cause]}: {facts.why}.",
        "",
        *_suspect_lines(facts),
    ]
    if one.tests:
        lines += ["", f"**{len(one.tests)} test(s)**", "", *_fenced("\n".join(_cut(one.tests)))]
    if facts.seen:
        lines += ["", "**Lately**", "", *_fenced("\n".join(f"{rev[:12]}  {said}" for rev, said in facts.seen))]
    if facts.owners:
        lines += ["", f"**Asked**: {', '.join(facts.owners)}"]
    if facts.fix:
        lines += ["", f"**Proposed fix**: branch `{facts.fix}`; it passed the rails and L1. A person decides."]
    if facts.words:
        lines += ["", "**An agent's words** (no evidence; the facts are above)", "", *_fenced(facts.words)]
    lines += ["", "Closed by headway only when every test above is seen to pass again."]
    return "\n".join(lines)


def _suspect_lines(facts: Facts) -> list[str]:
    answer = facts.answer
    if answer is None:
        good, bad = facts.finding.good[:12], facts.finding.bad[:12]
        since = f"between `{good}` and `{bad}`" if good else f"`{bad}` or before"
        return [f"**Since**: {since}. No culprit was searched for."]
    cost = f"{answer.runs} runs, {answer.seconds:.0f} s" + (
        f", {answer.gpu_hours:.2f} GPU-hours" if answer.gpu_hours else ""
    )
    said = answer.kind.replace("_", " ")
    head = f"**Culprit search**: {said} ({answer.why}); posterior {answer.posterior:.3f}, {cost}."
    rows = [f"- `{one.commit[:12]}` {_plain(one.subject)} ({_plain(one.author)})" for one in facts.suspects]
    return [head, *(["", *rows] if rows else [])]


def _fenced(text: str) -> list[str]:
    """A code block whose fence is longer than any in the text."""
    longest = max((len(run) for run in text.split() if set(run) == {"`"}), default=0)
    fence = "`" * max(4, longest + 1)
    safe = text.replace(fence, "'" * len(fence))
    return [fence, safe, fence]


def _plain(text: str) -> str:
    """One line that no forge takes for markup, a mention or a link to another issue."""
    flat = " ".join(text.split())
    return flat[:120].translate(_HARMLESS)


def _cut(names: Sequence[str]) -> list[str]:
    shown = list(names[:SHOWN])
    return [*shown, f"and {len(names) - SHOWN} more"] if len(names) > SHOWN else shown
