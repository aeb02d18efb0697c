"""Which blobs the log says are in use, and which of the stored ones may go."""

from headway.adapters.memory_log import MemoryLog
from headway.core.events_core import BlobRedacted, BlobsCollected, IntentNamed, TailSetAside
from headway.core.events_tune import GoalPinned
from headway.core.names import BlobId, Digest, EffectKey, StreamId
from headway.core.ports.log import one
from headway.core.upkeep import (
    GRACE_SECONDS,
    UPKEEP,
    BulkPolicy,
    StoredBlob,
    doomed,
    ids_in,
    members_of,
    reached,
    story_of,
)
from tests.adapters.logs import hand_clock

A, B, C = (BlobId("sha256:" + letter * 64) for letter in "abc")


def test_a_blob_is_in_use_if_any_payload_holds_its_id() -> None:
    log = MemoryLog(hand_clock())
    log.append(one(StreamId("campaign/c"), 0, GoalPinned(A, Digest("d" * 64))))
    log.append(one(StreamId("fork/x"), 0, IntentNamed("land", EffectKey("k"), {"diff": B})))
    log.append(
        one(UPKEEP, 0, BlobRedacted(A, "me", "why"), BlobsCollected((C,), 1.0, 1), TailSetAside("fork/x", 2, 3, "f"))
    )
    story = story_of(log.read_all())
    assert {blob: naming.stream for blob, naming in story.named.items()} == {A: "campaign/c", B: "fork/x"}
    assert (story.redacted, story.collected, story.set_aside) == ({A}, {C}, 3)


def test_unused_blobs_go_after_an_hour_and_used_ones_only_by_policy() -> None:
    def stored(blob: BlobId, age: float, size: int = 10) -> StoredBlob:
        return StoredBlob(blob, size, age)

    young, old = stored(A, GRACE_SECONDS - 1), stored(B, GRACE_SECONDS)
    assert doomed([young, old], {}, None).unused == (old,)
    assert doomed([young, old], {B: 1e9}, None).unused == ()
    policy = BulkPolicy(100.0, 10)
    assert doomed([stored(A, 100.0)], {A: 100.0}, policy).bulky == (stored(A, 100.0),)
    for spared, named in ((stored(A, 99.0), 100.0), (stored(A, 100.0), 99.0), (stored(A, 100.0, size=9), 100.0)):
        assert doomed([spared], {A: named}, policy).bulky == ()


def test_what_a_blob_in_use_names_is_in_use_and_as_young() -> None:
    evidence = f'{{"output": "{B}", "said": "image@{C} was pulled"}}'.encode()
    assert ids_in(evidence) == {B, C} and members_of(evidence) == {B}
    assert ids_in(b"nothing") == frozenset() == members_of(f"output with {C}".encode())
    assert reached({A: 9.0}, {A: ids_in(evidence), B: frozenset({C})}) == {A: 9.0, B: 9.0, C: 9.0}
    assert reached({A: 9.0, B: 2.0}, {A: frozenset({B}), B: frozenset({C})}) == {A: 9.0, B: 2.0, C: 2.0}
