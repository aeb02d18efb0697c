"""What may be taken out of a log's blobs, and how it is remembered: collection by policy, redaction by a person."""

from dataclasses import dataclass
from datetime import UTC, datetime

from headway.adapters.file_blobs import FileBlobs
from headway.core.errors import HeadwayError
from headway.core.events_core import BlobRedacted, BlobsCollected
from headway.core.inbox import append_beside_others
from headway.core.names import BlobId
from headway.core.ports.blobs import BlobMissing
from headway.core.ports.clock import Clock
from headway.core.ports.log import EventLog
from headway.core.upkeep import GRACE_SECONDS, UPKEEP, BulkPolicy, Doomed, StoredBlob, doomed, ids_in, reached, story_of


@dataclass(frozen=True, slots=True)
class Collected:
    """What `collect` removed, or would have."""

    doomed: Doomed
    leftovers: int
    """Temporary files of killed processes."""

    @property
    def stored_bytes(self) -> int:
        return sum(item.stored_bytes for item in self.doomed.unused + self.doomed.bulky)


def collect(log: EventLog, blobs: FileBlobs, clock: Clock, policy: BulkPolicy | None, *, dry_run: bool) -> Collected:
    """Remove blobs that no event names, and by `policy` old bulky ones; the caller holds the writer lock.

    Raises LogDamaged rather than take a blob for unused that a damaged record or blob may name.
    """
    now = clock.now()
    story = story_of(log.read_all())
    directly = {blob: _age(naming.ts, now) for blob, naming in story.named.items()}
    named_age = reached(directly, {blob: _ids_in(blobs, blob) for blob in blobs.all_ids()})
    stored = [
        StoredBlob(blob, info.stored_bytes, blobs.age(blob, now.timestamp()))
        for blob in blobs.all_ids()
        if (info := blobs.info(blob)) is not None and not info.redacted
    ]
    found = doomed(stored, named_age, policy)
    if dry_run:
        return Collected(found, 0)
    if found.bulky and policy is not None:  # said first: a kill in between must not leave a blob that seems lost
        gone = tuple(item.blob for item in found.bulky)
        append_beside_others(log, UPKEEP, BlobsCollected(gone, policy.older_than_seconds, policy.stored_bytes_at_least))
    for item in found.unused + found.bulky:
        if blobs.age(item.blob, now.timestamp()) >= item.age_seconds:  # else somebody has just stored it again
            blobs.remove(item.blob)
    return Collected(found, blobs.remove_leftovers(GRACE_SECONDS, now.timestamp()))


def _ids_in(blobs: FileBlobs, blob: BlobId) -> frozenset[BlobId]:
    try:
        return ids_in(blobs.get(blob))
    except BlobMissing:  # redacted
        return frozenset()


def redact(log: EventLog, blobs: FileBlobs, beginning: str, *, by: str, reason: str) -> BlobId:
    """Remove the content of the one blob whose id begins so, then record it. Running it again finishes a killed try.

    Raises HeadwayError if no blob or several begin so, LogDamaged if the log cannot be read.
    """
    blob = _the_one(blobs, beginning)
    blobs.redact(blob)  # first: a kill in between must not leave the secret there and the log saying it is gone
    if blob not in story_of(log.read(UPKEEP)).redacted:
        append_beside_others(log, UPKEEP, BlobRedacted(blob, by, reason))
    return blob


def _the_one(blobs: FileBlobs, beginning: str) -> BlobId:
    wanted = beginning if beginning.startswith("sha256:") else f"sha256:{beginning}"
    found = [blob for blob in blobs.all_ids() if blob.startswith(wanted)]
    if len(found) != 1:
        how_many = "No blob's id begins" if not found else f"{len(found)} blobs' ids begin"
        raise HeadwayError(f"{how_many} with {wanted}.", "`headway log show` prints the ids that events name.")
    return found[0]


def _age(ts: str, now: datetime) -> float:
    return (now - datetime.strptime(ts, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)).total_seconds()
