"""What the log says about its blobs, what a check of a log found, and which blobs may go. Pure."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from headway.core.events import decode
from headway.core.events_core import BlobRedacted, BlobsCollected, TailSetAside
from headway.core.names import BlobId, StreamId
from headway.core.ports.log import Record

UPKEEP = StreamId("log/upkeep")
"""Holds what was done to the log itself: redactions, collections, tails set aside."""

GRACE_SECONDS = 3600.0
"""A younger blob may be about to be named by an event; `log gc` lets it be."""

BLOB_ID = re.compile(r"sha256:[0-9a-f]{64}")
BLOB_ID_BYTES = re.compile(BLOB_ID.pattern.encode())
UPKEEP_TYPES = frozenset({BlobRedacted.TYPE, BlobsCollected.TYPE, TailSetAside.TYPE})


@dataclass(frozen=True, slots=True)
class Naming:
    """The newest record that names a blob."""

    stream: StreamId
    version: int
    ts: str


@dataclass
class BlobStory:
    """Everything the log says about blobs. One is in use if the payload of a record, or a blob in use, holds its id."""

    named: dict[BlobId, Naming] = field(default_factory=dict)
    redacted: set[BlobId] = field(default_factory=set)
    collected: set[BlobId] = field(default_factory=set)
    set_aside: int = 0
    """Records that earlier repairs took out; their positions are empty for a known reason."""

    def add(self, record: Record) -> None:
        """Take in one record; upkeep's own events tell about blobs without using them."""
        if record.type in UPKEEP_TYPES:
            event = decode(record.type, record.payload)
            if isinstance(event, BlobRedacted):
                self.redacted.add(event.blob)
            elif isinstance(event, BlobsCollected):
                self.collected.update(event.blobs)
            elif isinstance(event, TailSetAside):
                self.set_aside += event.count
            return
        if "sha256:" in record.payload:
            for blob in BLOB_ID.findall(record.payload):
                self.named[BlobId(blob)] = Naming(record.stream, record.version, record.ts)


def story_of(records: Iterable[Record]) -> BlobStory:
    """The story that the records add up to."""
    story = BlobStory()
    for record in records:
        story.add(record)
    return story


def ids_in(content: bytes) -> frozenset[BlobId]:
    """Every blob id that stands anywhere in a blob: evidence names further evidence, which `log gc` must keep too."""
    if b"sha256:" not in content:
        return frozenset()
    return frozenset(BlobId(found.decode()) for found in BLOB_ID_BYTES.findall(content))


def members_of(content: bytes) -> frozenset[BlobId]:
    """Ids that are whole strings of a JSON document: those must be there. Elsewhere an id may be anybody's digest."""
    if content[:1] not in (b"{", b"["):
        return frozenset()
    return frozenset(blob for blob in ids_in(content) if b'"%s"' % blob.encode() in content)


def reached(named: Mapping[BlobId, float], inner: Mapping[BlobId, frozenset[BlobId]]) -> dict[BlobId, float]:
    """`named` and all that those blobs name, and so on; what is named by something young is young itself."""
    ages = dict(named)
    open_blobs = list(ages)
    while open_blobs:
        outer = open_blobs.pop()
        for blob in inner.get(outer, ()):
            if ages[outer] < ages.get(blob, math.inf):
                ages[blob] = ages[outer]
                open_blobs.append(blob)
    return ages


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is not as it was written, with where it is in the sentence."""

    kind: Literal["file", "record", "head", "gap", "tail", "blob"]
    message: str
    stream: str = ""
    version: int = 0
    position: int = 0
    blob: str = ""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What `log verify` found. `blobs` counts by state: whole, redacted, collected, unused, missing, damaged."""

    records: int
    streams: int
    last_position: int
    set_aside: int
    blobs: Mapping[str, int]
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class StoredBlob:
    """A blob on disk: stored bytes, and seconds since it was last stored."""

    blob: BlobId
    stored_bytes: int
    age_seconds: float


@dataclass(frozen=True, slots=True)
class BulkPolicy:
    """Blobs in use may go when the newest event that names them and their file are old enough, and they are big."""

    older_than_seconds: float
    stored_bytes_at_least: int


@dataclass(frozen=True, slots=True)
class Doomed:
    """What `log gc` would remove."""

    unused: tuple[StoredBlob, ...]
    bulky: tuple[StoredBlob, ...]


def doomed(stored: Iterable[StoredBlob], named_age: Mapping[BlobId, float], policy: BulkPolicy | None) -> Doomed:
    """Which of the stored blobs may go. `named_age`: seconds since the newest event that led to each blob in use."""
    unused, bulky = [], []
    for item in stored:
        age = named_age.get(item.blob)
        if age is None:
            if item.age_seconds >= GRACE_SECONDS:
                unused.append(item)
        elif policy is not None and min(age, item.age_seconds) >= policy.older_than_seconds:
            if item.stored_bytes >= policy.stored_bytes_at_least:
                bulky.append(item)
    return Doomed(tuple(unused), tuple(bulky))
