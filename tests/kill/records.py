"""Reads a state folder's records with sqlite itself, and takes out what recovery alone has put there."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from headway.core.events_core import RECOVERY_TYPES

Row = tuple[str, str, str]


def records(state: Path) -> list[tuple[str, str, Any]]:
    """(stream, type, payload) of every record but those of recovery; no time stamps, no hashes."""
    with sqlite3.connect(state / "log.sqlite3") as db:
        rows = db.execute("SELECT stream, type, payload FROM records ORDER BY position").fetchall()
    db.close()
    return [(s, t, json.loads(p)) for s, t, p in _without_retries(rows) if t not in RECOVERY_TYPES]


def progress(state: Path) -> int:
    """How many such records there are; none before there is a log."""
    return len(records(state)) if (state / "log.sqlite3").exists() else 0


def _without_retries(rows: list[Row]) -> list[Row]:
    """An intent that recovery settled as `again` goes, since a second one follows; one settled as finished is done."""
    kept: list[Row] = []
    open_intents: dict[str, Row] = {}
    for row in rows:
        stream, kind, payload = row
        if kind == "core.intent.v1":
            open_intents[stream] = row
        if kind != "core.settled.v1":
            kept.append(row)
            continue
        settled = json.loads(payload)
        if settled["outcome"] == "finished":
            kept.append((stream, "core.done.v1", json.dumps({"key": settled["key"], "kind": settled["kind"]})))
        else:
            kept.remove(open_intents[stream])
    return kept
