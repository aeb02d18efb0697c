"""What the event log costs: `python -m benchmarks.log_speed [--json] [--events N] [--dir DIR]`.

A durable append is set beside one bare fsync of as many bytes on the same disk, in turns, because the disk decides
both. `must` is what the design asks for, where it asks; `cpu` is the processor time of the same thing.
"""

import argparse
import hashlib
import lzma
import os
import statistics
import sys
import sysconfig
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.table import show
from headway.adapters.clocks import SystemClock
from headway.adapters.file_blobs import FileBlobs
from headway.adapters.log_check import examine
from headway.adapters.masking import Masker
from headway.adapters.sqlite_log import SqliteLog
from headway.core.events import Event
from headway.core.events_core import IntentDone, IntentNamed, PersonDecided
from headway.core.events_tune import GoalPinned
from headway.core.journey import Journey, fold
from headway.core.log_lines import object_of
from headway.core.names import BlobId, Digest, EffectKey, StreamId
from headway.core.ports.log import Append, one

CAMPAIGN = StreamId("campaign/speed")
SINGLE_APPENDS = 300
BATCH = 1_000
STREAMS = 10_000
ENVIRONMENT = {"CI_TOKEN": "a-token-of-some-length", "SIGNING_KEY": "0123456789abcdef" * 4}


def events(count: int) -> Iterator[Event]:
    """What a campaign writes: intents with arguments, their ends, blob references, decisions; about 200 bytes each."""
    for at in range(count):
        digest = hashlib.sha256(str(at).encode()).hexdigest()
        match at % 4:
            case 0:
                args = {"candidate": f"sha256:{digest}", "case": f"case-{at % 7}", "seed": str(at)}
                yield IntentNamed("measure", EffectKey(f"measure/{digest}"), args)
            case 1:
                yield IntentDone("measure", EffectKey(f"measure/{digest}"))
            case 2:
                yield GoalPinned(BlobId(f"sha256:{digest}"), Digest(digest))
            case _:
                yield PersonDecided("decide", digest[:40], "somebody", {"reason": "a few words on why this is so"})


class Stopwatch:
    """Wall and processor seconds of a `with` block: on a busy machine they differ."""

    def __enter__(self) -> "Stopwatch":
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall, self.cpu = time.perf_counter() - self._wall, time.process_time() - self._cpu


def new_log(root: Path) -> SqliteLog:
    return SqliteLog(root / "log.sqlite3", SystemClock(), masker=Masker.from_environment(ENVIRONMENT))


def single_appends(folder: Path) -> list[dict[str, Any]]:
    """One event an append, in turns with one write and fsync of as many bytes (4 KiB pages) to another file."""
    log = new_log(folder / "single")
    wal = folder / "single" / "log.sqlite3-wal"
    bare, durable = [], []
    with (folder / "bare").open("wb", buffering=0) as file:
        for at, event in enumerate(events(SINGLE_APPENDS)):
            before = wal.stat().st_size
            with Stopwatch() as took:
                log.append(one(CAMPAIGN, at, event))
            durable.append(took.wall)
            grown = max(wal.stat().st_size - before, 4096)
            with Stopwatch() as took:
                file.write(b"\0" * grown)
                os.fsync(file.fileno())
            bare.append(took.wall)
    log.close()
    ratio = statistics.median(durable) / statistics.median(bare)
    return [
        {"name": "bare fsync, as many bytes: median", "value": statistics.median(bare) * 1e6, "unit": "us"},
        {"name": "durable append of one event: median", "value": statistics.median(durable) * 1e6, "unit": "us"},
        {"name": "durable append of one event: 95th percentile", "value": statistics.quantiles(durable, n=20)[-1] * 1e6}
        | {"unit": "us"},
        {"name": "durable append beside bare fsync", "value": ratio, "unit": "x", "must": "about 1"},
    ]


def batches(folder: Path, count: int) -> list[dict[str, Any]]:
    """`count` events in appends of a thousand, then everything that reads them."""
    log = new_log(folder / "big")
    queue = list(events(count))
    with Stopwatch() as took:
        for at in range(0, count, BATCH):
            log.append([Append(CAMPAIGN, at, tuple(queue[at : at + BATCH]))])
    log.close()
    del queue  # a hundred thousand living objects would make Python's garbage collector part of every figure below
    size = (folder / "big" / "log.sqlite3").stat().st_size
    rows = [
        {"name": f"append {count} events in batches of {BATCH}", "value": count / took.wall, "unit": "events/s"}
        | {"must": ">= 5000"},
        {"name": "append in batches, each event", "value": took.wall / count * 1e6, "unit": "us"}
        | {"cpu": took.cpu / count * 1e6},
        {"name": "on disk, each event", "value": size / count, "unit": "bytes"},
    ]
    with Stopwatch() as took:
        log = new_log(folder / "big")
    rows.append({"name": f"open a log of {count} events", "value": took.wall * 1e3, "unit": "ms"})
    rows += readers(log, count)
    log.close()
    with Stopwatch() as took:
        assert examine(folder / "big").problems == []
    rows.append({"name": f"prove {count} events (log verify)", "value": took.wall, "unit": "s", "cpu": took.cpu})
    return rows


def readers(log: SqliteLog, count: int) -> list[dict[str, Any]]:
    """Fold, read and export; every one of them checks the chain as it goes."""
    journey: Journey[int] = Journey(CAMPAIGN, 0, lambda state, _: state + 1, lambda _: None, {})
    with Stopwatch() as folded:
        assert fold(journey, log.read(CAMPAIGN)).state == count
    with Stopwatch() as read:
        assert sum(1 for _ in log.read(CAMPAIGN)) == count
    with Stopwatch() as exported:
        for record in log.read_all():
            object_of(record)
    return [
        {"name": f"fold {count} events (read, prove, decode)", "value": folded.wall, "unit": "s", "must": "<= 2"}
        | {"cpu": folded.cpu},
        {"name": "fold, each event", "value": folded.wall / count * 1e6, "unit": "us", "cpu": folded.cpu / count * 1e6},
        {"name": f"read and prove {count} events", "value": read.wall, "unit": "s", "cpu": read.cpu},
        {"name": f"read {count} events as objects (log export)", "value": exported.wall, "unit": "s"}
        | {"cpu": exported.cpu},
    ]


def many_streams(folder: Path) -> list[dict[str, Any]]:
    """A fork with ten thousand changes: opening looks at every head."""
    log = new_log(folder / "streams")
    log.append([Append(StreamId(f"change/fork/{at:040x}"), 0, (event,)) for at, event in enumerate(events(STREAMS))])
    log.close()
    with Stopwatch() as took:
        log = new_log(folder / "streams")
    log.close()
    return [{"name": f"open a log of {STREAMS} streams", "value": took.wall * 1e3, "unit": "ms"}]


def blobs(folder: Path) -> list[dict[str, Any]]:
    """Durable puts of source-like text, and how fast secrets are looked for."""
    store = FileBlobs(folder / "blobs", masker=Masker.from_environment(ENVIRONMENT))
    text = "".join(
        path.read_text() for path in sorted(Path(__file__).parents[1].glob("src/headway/core/*.py"))
    ).encode()
    puts = []
    for at in range(100):
        with Stopwatch() as took:
            blob = store.put(b"%d\n" % at + text[:8_000])
        puts.append(took.wall)
    info = store.info(blob)
    assert info is not None
    masker, megabytes = Masker.from_environment(ENVIRONMENT), len(text) * 50 / 1e6
    with Stopwatch() as took:
        masker.mask(text * 50)
    return [
        {"name": "durable put of an 8 kB blob: median", "value": statistics.median(puts) * 1e6, "unit": "us"},
        {"name": "8 kB of source, as stored", "value": info.stored_bytes, "unit": "bytes"},
        {"name": "masking of source text", "value": megabytes / took.wall, "unit": "MB/s"},
    ]


def compression() -> list[dict[str, Any]]:
    """Why blobs are zlib level 6: each of 200 modules of the standard library on its own, as blobs are."""
    library = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:200]
    texts = [path.read_bytes() for path in library]
    size = sum(map(len, texts))
    ways: dict[str, Callable[[bytes], bytes]] = {
        "zlib 6": lambda text: zlib.compress(text, 6),
        "zlib 9": lambda text: zlib.compress(text, 9),
        "lzma": lzma.compress,
    }
    rows = []
    for name, compress in ways.items():
        with Stopwatch() as took:
            small = sum(len(compress(text)) for text in texts)
        rows.append(
            {"name": f"{name}: {size / small:.2f}x smaller", "value": size / 1e6 / took.cpu, "unit": "MB/s of cpu"}
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.log_speed")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--dir", default=None, help="a folder on the disk to measure; default: the temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.dir, prefix="headway-log-speed-") as name:
        folder = Path(name)
        rows = [*single_appends(folder), *batches(folder, options.events), *many_streams(folder), *blobs(folder)]
    rows += compression()
    rows.append({"name": "load average", "value": os.getloadavg()[0], "unit": f"{os.cpu_count()} cores"})
    return show("headway.bench.log/1", rows, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
