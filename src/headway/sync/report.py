"""`report`: Markdown for each bundle and each deferral: facts of the ledger and its evidence (prose: `prose.py`)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headway.core.errors import HeadwayError
from headway.core.events import Event
from headway.core.events_loop import BundleClosed, Ejected, LandingUndone, Probed
from headway.core.events_sync import Disposed, Landed
from headway.core.names import BlobId, Sha
from headway.core.ports.blobs import BlobStore
from headway.core.ports.git import Commit
from headway.sync.accounting import Ledger
from headway.sync.group_testing import least_runs
from headway.sync.plan import day_of

REPORT_SCHEMA = "headway.sync-report/1"
SHOWN = 20
"""Paths, failing tests and hunks that one document lists."""


@dataclass(frozen=True)
class Document:
    """One Markdown page: `bundle-<id>` or `deferral-<first digits>`."""

    name: str
    markdown: str
    changes: tuple[Sha, ...] = ()
    """Those that it is about."""


@dataclass
class _Bundle:
    """What became of one bundle."""

    closed: BundleClosed
    when: str
    probes: list[Probed] = field(default_factory=list)
    landed: Landed | None = None
    ejected: Ejected | None = None


def documents(
    records: Iterable[tuple[str, Event]], ledger: Ledger, commits: Mapping[Sha, Commit], blobs: BlobStore
) -> tuple[Document, ...]:
    """`records` are (time stamp, event) of the ledger, oldest first; bundles in order, then deferrals in upstream's."""
    bundles, undone = _bundles(records)
    pages = [
        Document(f"bundle-{one.closed.bundle}", _bundle_page(one, commits, undone), one.closed.changes)
        for one in bundles
    ]
    for change in ledger.changes:
        found = ledger.dispositions.get(change)
        if found is not None and found.kind == "deferred" and change in commits:
            page = _deferral_page(found, commits[change], ledger.waits.get(change, ()), _evidence(found, blobs))
            pages.append(Document(f"deferral-{change[:12]}", page, (change,)))
    return tuple(pages)


def _bundles(records: Iterable[tuple[str, Event]]) -> tuple[list[_Bundle], set[Sha]]:
    found: list[_Bundle] = []
    undone: set[Sha] = set()
    for when, event in records:
        match event:
            case BundleClosed():
                found.append(_Bundle(event, when))
            case Probed() if found:
                found[-1].probes.append(event)
            case Landed() if found:
                found[-1].landed = event
            case Ejected() if found:
                found[-1].ejected = event
            case LandingUndone():
                undone.add(event.landing)
    return found, undone


def _bundle_page(one: _Bundle, commits: Mapping[Sha, Commit], undone: set[Sha]) -> str:
    members, runs = one.closed.changes, sum(probe.verdict != "unstackable" for probe in one.probes)
    landed = set(one.landed.changes) if one.landed is not None else set()
    lines = [f"# Bundle {one.closed.bundle}", "", f"Closed {one.when[:19]}Z on `{one.closed.onto[:12]}`.", ""]
    if one.landed is not None:
        back = " Taken back since." if one.landed.commit in undone else ""
        where = f"`{one.landed.commit[:12]}` on {one.landed.branch}"
        lines += [f"Landed {len(landed)} of {len(members)} as {where}.{back}", ""]
    else:
        lines += ["Nothing of it landed.", ""]
    lines += [
        f"L1 ran {runs} times; no search can do with fewer than {least_runs(len(members))} in the worst case.",
        "",
    ]
    lines += ["| change | subject | |", "|---|---|---|"]
    for change in members:
        lines.append(f"| `{change[:12]}` | {_cell(_subject(commits, change))} | {_word(one, change, landed)} |")
    return "\n".join([*lines, ""])


def _word(one: _Bundle, change: Sha, landed: set[Sha]) -> str:
    if change in landed:
        return "landed"
    if one.ejected is not None and one.ejected.change == change:
        partner = f", only together with `{one.ejected.partner[:12]}`" if one.ejected.partner else ""
        return f"ejected: alone {one.ejected.alone}{partner}"
    return "back to pending" if one.landed is not None or one.ejected is not None else "not landed"


def _deferral_page(found: Disposed, commit: Commit, waits: Sequence[Sha], evidence: Mapping[str, Any]) -> str:
    lines = [f"# Deferred: {_cell(commit.subject)}", ""]
    lines += [f"- change `{commit.sha}` of {day_of(commit.committed)}"]
    lines += [f"- reason `{found.reason}`, by {found.by}"]
    if found.partner:
        lines.append(f"- fails only together with `{found.partner[:12]}`")
    lines += [f"- waits for `{one[:12]}` to land or be decided" for one in waits]
    lines += [f"- {name}: {_listed(evidence[name])}" for name in ("message", "failed", "why") if evidence.get(name)]
    for name, title in (("paths", "Paths in conflict"), ("new", "Tests that fail on it and not on its base"),
                        ("refusals", "Refused by the rails"), ("protected_paths", "Protected paths")):  # fmt: skip
        if evidence.get(name):
            lines += ["", f"{title}:", "", *(f"- {_listed(item)}" for item in list(evidence[name])[:SHOWN])]
    next_step = evidence.get("next") or "`headway sync retry` when things have changed, or `headway sync decide`."
    lines += ["", f"Next: {next_step}", "", f"Evidence: `{found.evidence}` (`headway sync show {commit.sha[:12]}`)"]
    return "\n".join([*lines, ""])


def _listed(item: object) -> str:
    if isinstance(item, Mapping):
        return _cell(f"{item.get('reason', '')}: {item.get('message', '')}")
    return f"`{_cell(str(item))}`"


def _evidence(found: Disposed, blobs: BlobStore) -> Mapping[str, Any]:
    try:
        loaded = json.loads(blobs.get(BlobId(found.evidence)))
    except (HeadwayError, ValueError):
        return {}
    return loaded if isinstance(loaded, dict) else {}


def _subject(commits: Mapping[Sha, Commit], change: Sha) -> str:
    return commits[change].subject if change in commits else "(not in range)"


def _cell(text: str) -> str:
    """Text that cannot end a table's cell or a line."""
    return " ".join(text.split()).replace("|", "\\|").replace("`", "'")
