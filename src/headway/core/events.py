"""The one closed union of everything headway can remember, and its wire form.

An event class carries `TYPE = "<room>.<fact>.v<N>"`. A changed meaning is a new class with N+1; old ones stay readable.
"""

import functools
import json
import re
from typing import Any, get_args

from headway.core.errors import HeadwayError
from headway.core.events_core import CoreEvent
from headway.core.events_loop import LoopEvent
from headway.core.events_resolve import ResolveEvent
from headway.core.events_sync import SyncEvent
from headway.core.events_tune import TuneEvent
from headway.core.events_validate import ValidateEvent
from headway.core.events_validate_tiers import TierEvent

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
LONE_SURROGATE = re.compile("[\ud800-\udfff]")

Event = CoreEvent | SyncEvent | LoopEvent | ResolveEvent | ValidateEvent | TierEvent | TuneEvent


class UnknownEvent(HeadwayError):
    """The log was written by a newer headway, or by something that is not headway."""


def event_types() -> dict[str, type[Any]]:
    """`TYPE` -> class, for every member of the union."""
    return _event_types()


def encode(event: Event) -> tuple[str, str]:
    """An event as (type, canonical JSON payload): sorted keys, no spaces, UTF-8 kept."""
    payload = canonical_json(_adapter(event.TYPE).dump_python(event, mode="json"))
    if not payload.isascii():
        payload = _storable(payload)
    return event.TYPE, payload


def canonical_json(value: Any) -> str:
    """The one spelling of a payload that is hashed: sorted keys, no spaces, UTF-8 kept, no NaN."""
    return _CANONICAL.encode(value)


def decode(type_name: str, payload: str, *, written_by: str = "") -> Event:
    """The event of a record. Raises `UnknownEvent` naming the version needed, never guesses."""
    if type_name not in _event_types():
        raise unknown(type_name, written_by=written_by)
    try:
        event: Event = _adapter(type_name).validate_json(payload)
    except ValueError as refused:  # pydantic's ValidationError is one
        raise UnknownEvent(
            f"The log holds an event of type {type_name!r} whose fields this headway does not know.",
            "Read it with the headway that wrote it.",
        ) from refused
    return event


def unknown(type_name: str, *, written_by: str = "") -> UnknownEvent:
    """The refusal for a type that a newer headway wrote; `written_by` is the version that first did, if known."""
    return UnknownEvent(
        f"The log holds an event of type {type_name!r}, which this headway does not know.",
        f"Read it with {f'headway {written_by} or newer' if written_by else 'a newer headway'}.",
    )


def _storable(payload: str) -> str:
    """Bytes that were not UTF-8 (a path, say) arrive as lone surrogates, which no JSON reader takes: spell them out."""
    return LONE_SURROGATE.sub(lambda found: f"\\\\u{ord(found[0]):04x}", payload)


@functools.cache
def _event_types() -> dict[str, type[Any]]:
    members: dict[str, type[Any]] = {}
    for union in (CoreEvent, SyncEvent, LoopEvent, ResolveEvent, ValidateEvent, TierEvent, TuneEvent):
        for cls in get_args(union):
            assert cls.TYPE not in members, f"two events share the type {cls.TYPE}"
            members[cls.TYPE] = cls
    return members


@functools.cache
def _adapter(type_name: str) -> Any:
    from pydantic import TypeAdapter  # not at the top: `headway --help` must not pay for it

    return TypeAdapter(_event_types()[type_name])
