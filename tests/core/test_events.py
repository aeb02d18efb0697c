"""The closed union: every event survives a round trip, and strangers are named."""

import dataclasses

import pytest

from headway.core.events import UnknownEvent, decode, encode, event_types
from headway.core.events_core import IntentNamed
from headway.core.names import EffectKey


def test_every_type_name_says_room_fact_and_version() -> None:
    for name, cls in event_types().items():
        room, fact, version = name.split(".")
        assert room in {"core", "sync", "validate", "tune"} and fact and version[0] == "v" and int(version[1:]) >= 1
        assert dataclasses.is_dataclass(cls) and cls.__dataclass_params__.frozen, name


def test_round_trip_is_exact_and_canonical() -> None:
    event = IntentNamed("land", EffectKey("k"), {"b": "2", "a": "ü"})
    kind, payload = encode(event)
    assert payload == '{"args":{"a":"ü","b":"2"},"key":"k","kind":"land"}'
    assert decode(kind, payload) == event


def test_an_event_from_a_newer_headway_names_the_version_needed() -> None:
    with pytest.raises(UnknownEvent, match=r"'sync.seen.v9'.*headway 3.1 or newer"):
        decode("sync.seen.v9", "{}", written_by="3.1")
