"""The in-memory event log: the fake beside `sqlite_log.py`, held to the same contract suite."""

from collections.abc import Iterator, Sequence

from headway.adapters.masking import NOTHING_KNOWN, Masker
from headway.core.events import encode
from headway.core.names import StreamId
from headway.core.ports.clock import Clock, stamp
from headway.core.ports.log import GENESIS, Append, Record, StaleWrite, record_hash


class MemoryLog:
    """Keeps records in a list; durable exactly as long as the process."""

    def __init__(self, clock: Clock, *, masker: Masker = NOTHING_KNOWN) -> None:
        self._clock = clock
        self._masker = masker
        self._records: list[Record] = []
        self._heads: dict[StreamId, Record] = {}

    def append(self, writes: Sequence[Append]) -> tuple[Record, ...]:
        for write in writes:
            stands_at = self._version(write.stream)
            if stands_at != write.expected:
                raise StaleWrite(f"Stream {write.stream} stands at {stands_at}, not at {write.expected}.")
        added: list[Record] = []
        heads = dict(self._heads)
        ts = stamp(self._clock.now())
        for write in writes:
            for event in write.events:
                previous = heads.get(write.stream)
                version = previous.version + 1 if previous else 1
                prev_hash = previous.hash if previous else GENESIS
                kind, payload = encode(event)
                payload = self._masker.mask_payload(payload)
                position = len(self._records) + len(added) + 1
                digest = record_hash(position, write.stream, version, ts, kind, payload, prev_hash)
                record = Record(position, write.stream, version, ts, kind, payload, prev_hash, digest)
                heads[write.stream] = record
                added.append(record)
        self._records += added
        self._heads = heads
        return tuple(added)

    def read(self, stream: StreamId, after: int = 0) -> Iterator[Record]:
        return (r for r in list(self._records) if r.stream == stream and r.version > after)

    def read_all(self, after: int = 0) -> Iterator[Record]:
        return iter(self._records[after:])

    def heads(self, prefix: str = "") -> dict[StreamId, int]:
        return {stream: record.version for stream, record in self._heads.items() if stream.startswith(prefix)}

    def _version(self, stream: StreamId) -> int:
        head = self._heads.get(stream)
        return head.version if head else 0
