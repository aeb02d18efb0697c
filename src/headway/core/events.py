"""The one closed union of everything headway can remember, and its wire form.

An event class carries `TYPE = "<room>.<fact>.v<N>"`. A changed meaning is a new class with N+1; old ones stay readable.
"""

import functools
import json
import types
from typing import Any, Union, get_args

from headway.core.errors import HeadwayError
from headway.core.events_core import CoreEvent
from headway.core.events_sync import SyncEvent
from headway.core.events_tune import TuneEvent
from headway.core.events_validate import ValidateEvent

Event = CoreEvent | SyncEvent | ValidateEvent | TuneEvent


class UnknownEvent(HeadwayError):
    """The log was written by a newer headway, or by something that is not headway."""


def event_types() -> dict[str, type[Any]]:
    """`TYPE` -> class, for every member of the union."""
    return _event_types()


def encode(event: Event) -> tuple[str, str]:
    """An event as (type, canonical JSON payload): sorted keys, no spaces, UTF-8 kept."""
    payload = _adapter(event.TYPE).dump_python(event, mode="json")
    return event.TYPE, json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def decode(type_name: str, payload: str, *, written_by: str = "") -> Event:
    """The event of a record. Raises `UnknownEvent` naming the version needed, never guesses."""
    if type_name not in _event_types():
        needs = f"headway {written_by} or newer" if written_by else "a newer headway"
        raise UnknownEvent(
            f"The log holds an event of type {type_name!r}, which this headway does not know.",
            f"Read it with {needs}.",
        )
    event: Event = _adapter(type_name).validate_json(payload)
    return event


@functools.cache
def _event_types() -> dict[str, type[Any]]:
    members: dict[str, type[Any]] = {}
    for union in (CoreEvent, SyncEvent, ValidateEvent, TuneEvent):
        classes = (
            get_args(union)
            if isinstance(union, types.UnionType) or getattr(union, "__origin__", None) is Union
            else (union,)
        )
        for cls in classes:
            assert cls.TYPE not in members, f"two events share the type {cls.TYPE}"
            members[cls.TYPE] = cls
    return members


@functools.cache
def _adapter(type_name: str) -> Any:
    from pydantic import TypeAdapter  # not at the top: `headway --help` must not pay for it

    return TypeAdapter(_event_types()[type_name])
