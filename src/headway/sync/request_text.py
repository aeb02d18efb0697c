"""What headway's pull request says: facts from the ledger, in Markdown."""

from collections.abc import Sequence

from headway.core.events_sync import Landed
from headway.sync.accounting import Ledger

Shown = Sequence[tuple[Landed, Sequence[str]]]
"""Landings with the subjects of their changes."""


def title_of(landings: Shown) -> str:
    """`Sync with upstream: 5 changes`, or the one change's own subject."""
    subjects = [subject for _, all_of_it in landings for subject in all_of_it]
    if len(subjects) == 1:
        return f"Sync with upstream: {subjects[0]}"
    return f"Sync with upstream: {len(subjects)} changes"


def body_of(ledger: Ledger, landings: Shown) -> str:
    """One line a change, grouped by what landed together; L1 was green at the last commit of each group."""
    deferred = sum(found.kind == "deferred" for found in ledger.dispositions.values())
    lines = [
        "Picked from upstream by headway, in upstream's order. L1 was green at the last commit of each group; the "
        "inner commits of a group (`Headway-Bundle: ID n/m`) were not tested on their own.",
        "",
        "Do not squash by hand without the trailers: `Upstream-Commit:` is how headway knows what is taken.",
    ]
    for landed, subjects in landings:
        lines += ["", f"**{landed.commit[:12]}**", ""]
        lines += [
            f"- `{change[:12]}` {_plain(subject)}" for change, subject in zip(landed.changes, subjects, strict=True)
        ]
    lines += ["", f"Pending: {len(ledger.pending)}. Deferred: {deferred}."]
    return "\n".join(lines)


def _plain(subject: str) -> str:
    """Upstream's `#123` would link to the fork's own number, and `@name` would call people who know nothing of it."""
    return subject.replace("#", "#\u200b").replace("@", "@\u200b")
