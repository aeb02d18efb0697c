"""`show SHA`: one change's whole journey, its answer, the evidence, and what it waits for."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway.core.errors import HeadwayError
from headway.core.events import decode
from headway.core.events_sync import Disposed
from headway.core.names import BlobId
from headway.core.ports.blobs import BlobStore
from headway.core.ports.git import Commit
from headway.core.ports.log import Record
from headway.sync.accounting import Ledger
from headway.sync.history import pull_request_of
from headway.sync.plan import day_of

SHOW_SCHEMA = "headway.show/1"


@dataclass(frozen=True)
class Shown:
    """One change as `show` prints it."""

    commit: Commit
    disposition: Disposed | None
    journey: Sequence[Record]
    evidence: dict[str, Any]
    waits_on: Sequence[str] = ()
    """The changes of which one must land or be decided first."""

    def to_json(self) -> dict[str, Any]:
        """For `show --json`."""
        found = self.disposition
        return {
            "schema": SHOW_SCHEMA,
            "change": self.commit.sha,
            "subject": self.commit.subject,
            "date": day_of(self.commit.committed),
            "pr": pull_request_of(self.commit),
            "disposition": None
            if found is None
            else {
                "kind": found.kind,
                "by": found.by,
                "grade": found.grade,
                "reason": found.reason,
                "landed": found.landed or None,
                "partner": found.partner or None,
            },
            "waits_for": self._waits_for() or None,
            "journey": [{"ts": r.ts, "type": r.type, **json.loads(r.payload)} for r in self.journey],
            "evidence": self.evidence,
        }

    def lines(self) -> list[str]:
        """For people."""
        found, commit = self.disposition, self.commit
        answer = "pending" if found is None else f"{found.kind} by {found.by} ({found.grade}): {found.reason}"
        lines = [f"change    {commit.sha}", f"subject   {commit.subject}", f"date      {day_of(commit.committed)}"]
        lines.append(f"answer    {answer}")
        if found is not None and found.landed:
            lines.append(f"landed    {found.landed}")
        if found is not None and found.partner:
            lines.append(f"partner   {found.partner}")
        if self._waits_for():
            lines.append(f"waits for {self._waits_for()}")
        lines += ["journey"]
        lines += [f"  {r.ts[:19]}Z  {r.type}  {_evidence_of(r)}".rstrip() for r in self.journey]
        lines += ["  (`headway log blob ID` prints what an id stands for)"]
        lines += ["evidence", *_indented(self.evidence)]
        return lines

    def _waits_for(self) -> str:
        if self.disposition is None:
            return "the next `headway sync run`"
        if self.disposition.kind == "deferred" and self.waits_on:
            return ", ".join(self.waits_on)
        return "`headway sync retry`, or a decision" if self.disposition.kind == "deferred" else ""


def shown(commit: Commit, ledger: Ledger, journey: Sequence[Record], blobs: BlobStore) -> Shown:
    """Put together from the ledger, the change's own stream and the evidence blob of its last event that has one."""
    found = ledger.dispositions.get(commit.sha)
    blob = found.evidence if found is not None else _last_evidence(journey)
    evidence: dict[str, Any] = {}
    if blob is not None:
        try:
            evidence = json.loads(blobs.get(blob))
        except HeadwayError as gone:
            evidence = {"gone": str(gone)}
    if "matches" in evidence:  # one scan's evidence covers many changes; only this one's is of interest
        evidence = {"trunk": evidence["trunk"], "match": evidence["matches"].get(commit.sha, "merged by the fork")}
    return Shown(commit, found, journey, evidence, ledger.waits.get(commit.sha, ()))


def _last_evidence(journey: Sequence[Record]) -> BlobId | None:
    found = (_evidence_of(record) for record in reversed(journey))
    return next((BlobId(evidence) for evidence in found if evidence), None)


def _evidence_of(record: Record) -> str:
    return str(getattr(decode(record.type, record.payload), "evidence", ""))


def _indented(evidence: dict[str, Any]) -> list[str]:
    text = json.dumps(evidence, indent=2, ensure_ascii=False).replace("\\n", "\n    ")
    return [f"  {line}" for line in text.splitlines()]
