"""One line per record, for people. Works on the payload's JSON, so a newer headway's events are shown too."""

import json
import re
from typing import Any

from headway.core.errors import HeadwayError
from headway.core.events import canonical_json
from headway.core.ports.log import Record

LONG_HEX = re.compile(r"\b(sha256:)?([0-9a-f]{12})[0-9a-f]{28,}\b")
LONGEST_VALUE = 60


def line_of(record: Record, width: int = 160) -> str:
    """`2026-11-30 18:44:02Z  fork/x#12  sync.seen  head=1a2b… count=3`, cut to `width` columns."""
    time = record.ts[:19].replace("T", " ") + "Z"
    line = (
        f"{time}  {LONG_HEX.sub(_shortened, record.stream)}#{record.version}  {record.type}  {_fields(record.payload)}"
    )
    return line if len(line) <= width else line[: width - 1] + "…"


def object_of(record: Record) -> dict[str, Any]:
    """All fields of a record, the payload as an object: one line of an export."""
    return {
        "position": record.position,
        "stream": record.stream,
        "version": record.version,
        "ts": record.ts,
        "type": record.type,
        "payload": json.loads(record.payload),
        "prev_hash": record.prev_hash,
        "hash": record.hash,
    }


def record_of(line: dict[str, Any]) -> Record:
    """The record that `object_of` made a line of. Raises HeadwayError for a line that is no record."""
    try:
        return Record(**{**line, "payload": canonical_json(line["payload"])})
    except (KeyError, TypeError) as fault:
        raise HeadwayError("A line of the log is no record of headway.", "Export or push it again.") from fault


def _fields(payload: str) -> str:
    return " ".join(f"{name}={_value(value)}" for name, value in json.loads(payload).items())


def _value(value: Any) -> str:
    if isinstance(value, str):
        shown = LONG_HEX.sub(_shortened, value)
        shown = json.dumps(shown, ensure_ascii=False) if not shown or re.search(r"\s", shown) else shown
    else:
        shown = LONG_HEX.sub(_shortened, json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return shown if len(shown) <= LONGEST_VALUE else shown[: LONGEST_VALUE - 1] + "…"


def _shortened(found: re.Match[str]) -> str:
    return f"{found[1] or ''}{found[2]}…"
