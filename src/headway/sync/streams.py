"""Bundles and chains: how pending changes travel. Pure, over forecasts in upstream's order.

A change that moves a toolchain pin has a lane of its own. A change that needs a member of an open chain, or edits a
source file of one, joins that chain, in order. A risky change opens a chain. All others go into the next bundle.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.core.config import PlanConfig
from headway.core.names import Sha
from headway.core.ports.patches import FilePatch
from headway.sync.dependencies import Dependencies, Edge
from headway.sync.languages import is_build, is_prose, is_test
from headway.sync.plan import Forecast
from headway.sync.risk import Risk, risk_of, signals_of
from headway.sync.triage import Decided, Ready

SETTLED = frozenset({"already_present", "reverted_pair", "wont_port"})


@dataclass(frozen=True)
class PlanRow:
    """One pending change in the plan. `stream` is `bundle N`, `chain N`, `toolchain`, or "" where nothing is landed."""

    forecast: dict[str, Any]
    risk: float
    reasons: tuple[str, ...]
    needs: tuple[Edge, ...]
    stream: str

    def to_json(self) -> dict[str, Any]:
        """For `plan --json` and for the cache."""
        needs = [{"change": e.on, "kind": e.kind, "why": e.why, "weight": e.weight} for e in self.needs]
        risk = {"score": self.risk, "reasons": list(self.reasons)}
        return {**self.forecast, "risk": risk, "needs": needs, "stream": self.stream}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "PlanRow":
        """The row that `to_json` wrote."""
        forecast = {key: value for key, value in document.items() if key not in ("risk", "needs", "stream")}
        change = Sha(document["change"])
        needs = tuple(Edge(change, Sha(e["change"]), e["kind"], e["why"], e["weight"])
                      for e in document["needs"])  # fmt: skip
        risk = document["risk"]
        return cls(forecast, risk["score"], tuple(risk["reasons"]), needs, document["stream"])


def planned(
    found: Sequence[Forecast],
    needs: Dependencies,
    patches: Mapping[Sha, Sequence[FilePatch]],
    deferred: frozenset[Sha],
    alone: Mapping[Sha, int],
    shape: PlanConfig,
) -> tuple[PlanRow, ...]:
    """Risk, needs and stream of every forecast. `alone` counts conflicted files of picks on trunk's tip.

    It is looked at where a pending change before it wrote lines it stands on: else the pick in order says the same.
    """
    pending = frozenset(one.commit.sha for one in found)
    absent = deferred | {one.commit.sha for one in found if _is_deferred(one)}
    streams = Streams(shape)
    rows = []
    for one in found:
        change = one.commit.sha
        edges = needs.of(change, pending | deferred)
        risk = Risk(0.0, ())
        if not _is_settled(one):
            stands_on_pending = any(edge.kind == "textual" and edge.on in pending for edge in edges)
            tried = one.assessment.facts.get("result") != "unknown"
            files = alone[change] if stands_on_pending and tried else len(one.to_json()["conflicts"])
            risk = _risk(one, edges, needs, patches.get(change, ()), frozenset(absent - {change}), files)
        stream = "" if _is_settled(one) else streams.place(change, edges, patches.get(change, ()), risk, needs)
        rows.append(PlanRow(one.to_json(), risk.score, risk.reasons, edges, stream))
    return tuple(rows)


class Streams:
    """The open chains and the bundle being filled."""

    def __init__(self, shape: PlanConfig) -> None:
        self._shape = shape
        self._chains: list[tuple[set[Sha], set[str]]] = []
        self._placed = 0
        self._bundle = 0
        self._bundled: list[int] = []

    def place(
        self, change: Sha, edges: Iterable[Edge], files: Sequence[FilePatch], risk: Risk, needs: Dependencies
    ) -> str:
        """The stream of the next change."""
        self._placed += 1
        if change in needs.toolchain:
            return "toolchain"
        sources = {
            file.path for file in files if not (is_test(file.path) or is_prose(file.path) or is_build(file.path))
        }
        wanted = {edge.on for edge in edges if edge.kind != "declared"}
        for number, (members, touched) in enumerate(self._chains, start=1):
            if members & wanted or touched & sources:
                members.add(change)
                touched |= sources
                return f"chain {number}"
        if risk.is_risky:
            self._chains.append(({change}, sources))
            return f"chain {len(self._chains)}"
        full = len(self._bundled) >= self._shape.bundle
        if not self._bundled or full or self._placed - self._bundled[0] >= self._shape.window:
            self._bundle, self._bundled = self._bundle + 1, []
        self._bundled.append(self._placed)
        return f"bundle {self._bundle}"


def _risk(
    one: Forecast, edges: Sequence[Edge], needs: Dependencies, files: Sequence[FilePatch], absent: frozenset[Sha],
    alone: int,
) -> Risk:  # fmt: skip
    facts = one.assessment.facts
    hunks = facts.get("resolution", ())
    conflicted = facts.get("result") == "conflict"
    return risk_of(
        signals_of(
            files,
            needs.of(one.commit.sha),
            alone=alone,
            in_order=conflicted,
            unknown=facts.get("result") == "unknown",
            unresolved=sum(hunk["engine"] is None for hunk in hunks),
            absent=frozenset(str(sha) for sha in absent),
        )
    )


def _is_settled(one: Forecast) -> bool:
    """Decided without landing anything: policy, a pair that cancels out, an effect that is there."""
    return isinstance(one.assessment, Decided) and one.assessment.kind in SETTLED


def _is_deferred(one: Forecast) -> bool:
    return not isinstance(one.assessment, Ready) and not _is_settled(one)


def table_lines(rows: Iterable[PlanRow]) -> Iterable[str]:
    """The plan for people: one line a change, and below it what it needs and why."""
    for row in rows:
        facts = row.forecast
        yield (
            f"{facts['change'][:12]}  {facts['date']}  {facts['trial']:9}  {facts['would']:32}  "
            f"{row.risk:5.2f}  {row.stream:10}  {facts['subject'][:72]}"
        )
        for edge in row.needs:
            yield f"              needs {edge.on[:12]} ({edge.kind}: {edge.why}, {edge.weight})"
