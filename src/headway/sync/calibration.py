"""Predicted against happened: the risk score of changes that are answered, on the state they were answered on.

*Trouble* is what the score is to predict: the change was deferred, or it landed otherwise than git alone picks it. Each
change is tried again on the commit it was answered on (a pick's parent; for a deferral what its evidence names), so
nothing that came later is seen but the range's own order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headway.core.events_sync import Disposed
from headway.core.names import Sha
from headway.core.ports.git import Clean, Conflicted, Empty, Trial
from headway.core.ports.patches import FilePatch
from headway.sync.dependencies import Dependencies
from headway.sync.risk import reliability, risk_of, roc_auc, signals_of
from headway.sync.triage import Triage

SCHEMA = "headway.calibration/1"
FEWEST = 10
"""Changes below which no measure is worth printing."""


@dataclass(frozen=True, slots=True)
class Told:
    """One answered change: what the score says of it, and whether it was trouble."""

    change: Sha
    score: float
    trouble: bool


@dataclass(frozen=True)
class Calibration:
    """The measures; `unread` counts answered changes whose state of then is not here any more."""

    told: tuple[Told, ...]
    unread: int

    def to_json(self) -> dict[str, Any]:
        """For `plan --calibration --json`. `roc_auc` is null without both outcomes."""
        scores, happened = [one.score for one in self.told], [one.trouble for one in self.told]
        auc = roc_auc(scores, happened)
        bins = [
            {"low": b.low, "high": b.high, "changes": b.count, "predicted": b.predicted, "happened": b.happened}
            for b in reliability(scores, happened)
        ]
        return {
            "schema": SCHEMA,
            "changes": len(scores),
            "trouble": sum(happened),
            "unread": self.unread,
            "roc_auc": round(auc, 3) if auc == auc else None,
            "reliability": bins,
        }

    def lines(self) -> Iterable[str]:
        """For people."""
        document = self.to_json()
        yield f"{document['changes']} answered changes, {document['trouble']} were trouble, {self.unread} unread"
        if document["changes"] < FEWEST:
            yield f"fewer than {FEWEST}: no measure of these would mean anything"
            return
        yield f"ROC-AUC {document['roc_auc'] if document['roc_auc'] is not None else 'needs both outcomes'}"
        yield "score         changes  predicted  happened"
        for one in document["reliability"]:
            yield (
                f"{one['low']:4.2f} - {one['high']:4.2f}  {one['changes']:7}  "
                f"{one['predicted']:9.3f}  {one['happened']:8.3f}"
            )


def calibrated(
    triage: Triage,
    answers: Mapping[Sha, Disposed],
    states: Mapping[Sha, str],
    needs: Dependencies,
    patches: Mapping[Sha, tuple[FilePatch, ...]],
) -> Calibration:
    """Score and outcome of each answered change. `states` names what each was answered on."""
    absent = frozenset(str(change) for change, found in answers.items() if found.kind == "deferred")
    told, unread = [], 0
    for change, found in answers.items():
        if found.kind not in ("picked", "deferred"):
            continue
        onto = states.get(change, "")
        trial = triage.merges.pick(change, onto) if onto else None
        if trial is None or not isinstance(trial, Clean | Conflicted | Empty):
            unread += 1
            continue
        told.append(_told(change, found, onto, trial, triage, needs, patches.get(change, ()), absent))
    return Calibration(tuple(told), unread)


def _told(
    change: Sha,
    found: Disposed,
    onto: str,
    trial: Trial,
    triage: Triage,
    needs: Dependencies,
    files: tuple[FilePatch, ...],
    absent: frozenset[str],
) -> Told:
    conflicted = isinstance(trial, Conflicted)
    hunks = triage.ladder(change, onto, trial) if isinstance(trial, Conflicted) else ()
    signals = signals_of(
        files,
        needs.of(change),
        alone=len(trial.paths) if isinstance(trial, Conflicted) else 0,
        in_order=conflicted,
        unresolved=sum(hunk.engine is None for hunk in hunks),
        absent=absent - {str(change)},
    )
    trouble = found.kind == "deferred"
    if found.kind == "picked" and found.landed:
        landed = triage.merges.merge(found.landed, found.landed, found.landed)
        git_alone = trial.tree if isinstance(trial, Clean) else None
        trouble = not isinstance(landed, Empty) or landed.tree != git_alone
    return Told(change, risk_of(signals).score, trouble)
