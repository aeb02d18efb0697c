"""What a campaign tried and what came of it, as one small JSON document and as a table.

    python -m benchmarks.campaign_digest CAMPAIGN [--out FILE.json]

Every attempt with its hypothesis, knobs and verdict, from the log; and the screenings whose results lie on the spool
while their attempts' turn has not come: those are in no ranking yet. Paths of the machine stay out.
"""

import argparse
import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

from headway.adapters.spool_worker import opened
from headway.core.reasons import Reason
from headway.tune import campaign as campaigns
from headway.tune.evidence import text_of
from headway.tune.state import Attempt, Campaign, InFlight, Ranked, Refusal, Undecided
from headway.wiring.state import open_state
from headway.wiring.tune import find_campaign

ATTEMPT = re.compile(r"-a(\d+)-[0-9a-f]{8}-screen-1\.json$")
AGAIN = re.compile(r"-a(\d+)-[0-9a-f]{8}-(promote|confirm)-\d+\.json$")
SCHEMA = "headway.campaign-digest/1"


def digest(name: str) -> dict[str, Any]:
    """The document."""
    place = find_campaign(name, None)
    with open_state(place.state, read_only=True) as state:
        campaign = campaigns.read(state.log, place.id)
        texts = {a.id: text_of(state.blobs, a.hypothesis) for a in _all(campaign)}
        evidence = {
            a.id: text_of(state.blobs, a.outcome.evidence).splitlines()[0]
            for a in campaign.attempts
            if isinstance(a.outcome, Refusal) and a.outcome.evidence is not None
        }
    rows = [_row(a, texts[a.id], evidence.get(a.id, "")) for a in _all(campaign)]
    return {
        "schema": SCHEMA, "campaign": place.id, "task": campaign.needed.task,
        "task_digest": campaign.needed.task_digest, "seconds": round(campaign.spent.seconds, 1),
        "noise": None if campaign.baseline is None else round(campaign.baseline.noise, 5),
        "promotions": list(campaign.promotions), "attempts": rows,
        "measured_again": _measured_again(place.state / "worker" / "results"),
        "screened_ahead": _ahead(place.state / "worker" / "results", {a.id for a in campaign.attempts}),
    }  # fmt: skip


def _all(campaign: Campaign) -> list[Attempt]:
    return [*campaign.attempts, *([campaign.current] if campaign.current is not None else [])]


def _row(attempt: Attempt, hypothesis: str, evidence: str) -> dict[str, Any]:
    row: dict[str, Any] = {"id": attempt.id, "hypothesis": hypothesis, "knobs": dict(attempt.knobs)}
    match attempt.outcome:
        case Ranked(speed=speed, mode=mode, promotion=promotion):
            row |= {"verdict": "ranked", "measured": mode, "ratio": round(speed.ratio, 4)}
            row["interval"] = [round(speed.low, 4), round(speed.high, 4)]
            if promotion is not None:
                row["promoted"] = promotion.promoted
                row["reason"] = str(Reason(promotion.reason)) if promotion.reason else None
        case Refusal(reason=reason, at=at):
            row |= {"verdict": "refused", "at": at, "reason": str(Reason(reason)), "evidence": evidence[:200]}
        case Undecided(reason=reason):
            row |= {"verdict": "undecided", "reason": str(Reason(reason))}
        case InFlight():
            row |= {"verdict": "in flight"}
    return row


def _measured_again(results: Path) -> list[dict[str, Any]]:
    """Medians by case of promotion tests (rival: the incumbent then) and confirmations (rival: the baseline)."""
    found = []
    for path in sorted(results.glob("*.json"), key=lambda one: one.name):
        matched, result = AGAIN.search(path.name), opened(path.read_bytes(), path.stem)
        if matched is None or result is None:
            continue
        for one in result.samples:
            ours, theirs = (round(1e3 * statistics.median(side), 5) for side in (one.candidate, one.rival))
            row = {"id": int(matched.group(1)), "job": matched.group(2), "case": one.case}
            found.append(row | {"blocks": len(one.candidate), "ms": ours, "rival_ms": theirs})
    return sorted(found, key=lambda row: (row["id"], row["job"] == "confirm"))


def _ahead(results: Path, ended: set[int]) -> list[dict[str, Any]]:
    found = []
    for path in sorted(one for one in results.glob("*.json") if ATTEMPT.search(one.name)):
        number = int(ATTEMPT.search(path.name).group(1))  # type: ignore[union-attr]  # the glob holds it
        result = opened(path.read_bytes(), path.stem)
        if number in ended or result is None:
            continue
        row: dict[str, Any] = {"id": number, "outcome": result.outcome}
        if result.samples:
            one = result.samples[0]
            row["ms"] = round(statistics.median(one.candidate) * 1e3, 4)
            row["baseline_ms"] = round(statistics.median(one.rival) * 1e3, 4)
        if result.refusal is not None:
            row |= {"reason": result.refusal.code, "evidence": result.refusal.message[:200]}
        found.append(row)
    return sorted(found, key=lambda row: int(row["id"]))


def main() -> int:
    """Write or print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("campaign")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    document = digest(options.campaign)
    lists = {key: value for key, value in document.items() if key in ("attempts", "measured_again", "screened_ahead")}
    head = json.dumps({key: value for key, value in document.items() if key not in lists})[:-1]
    parts = [f'"{key}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]" for key, rows in lists.items()]
    text = head + ", " + ",\n".join(parts) + "}\n"
    if options.out is not None:
        options.out.write_text(text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
