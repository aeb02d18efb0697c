"""Events of the loop and the log themselves: intents, what became of them, notes of a person, log maintenance."""

from dataclasses import dataclass, field
from typing import ClassVar, Literal

from headway.core.names import BlobId, EffectKey


@dataclass(frozen=True, slots=True)
class IntentNamed:
    """An outside effect is about to start. `kind` names the act stage; `args` is all that `settle` needs."""

    TYPE: ClassVar[str] = "core.intent.v1"
    kind: str
    key: EffectKey
    args: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IntentDone:
    """The effect's result is in the log; written in the same append as the result itself."""

    TYPE: ClassVar[str] = "core.done.v1"
    kind: str
    key: EffectKey


@dataclass(frozen=True, slots=True)
class IntentSettled:
    """Recovery: an intent without a result was looked into after a kill, and this is what the world said."""

    TYPE: ClassVar[str] = "core.settled.v1"
    kind: str
    key: EffectKey
    outcome: Literal["finished", "rolled_back", "again"]


@dataclass(frozen=True, slots=True)
class PersonDecided:
    """In `inbox/<id>`: what a person or another process decided; a running loop takes it up at its next step."""

    TYPE: ClassVar[str] = "core.inbox.v1"
    verb: Literal["pick", "retry", "decide", "approve", "stop", "pause", "resume", "undo", "resolve"]
    subject: str
    by: str
    args: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InboxTaken:
    """The loop has taken up inbox entries up to and including `version`."""

    TYPE: ClassVar[str] = "core.inbox_taken.v1"
    inbox: str
    version: int


@dataclass(frozen=True, slots=True)
class BlobRedacted:
    """A person removed a blob's content; its id stays, so the chain still verifies."""

    TYPE: ClassVar[str] = "core.blob_redacted.v1"
    blob: BlobId
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class BlobsCollected:
    """`log gc` removed the content of blobs that events name, by a policy of age and size; they are not missing."""

    TYPE: ClassVar[str] = "core.blobs_collected.v1"
    blobs: tuple[BlobId, ...]
    older_than_seconds: float
    stored_bytes_at_least: int


@dataclass(frozen=True, slots=True)
class TailSetAside:
    """`log verify --set-aside` moved damaged records out of a stream into a file, and says which.

    `stream` is `?` for records that are known only to have been there; `first_version` is then 0.
    """

    TYPE: ClassVar[str] = "core.tail_set_aside.v1"
    stream: str
    first_version: int
    count: int
    file: str


RECOVERY_TYPES = frozenset({IntentSettled.TYPE, TailSetAside.TYPE})
"""Types that exist only because something went wrong; the kill test compares logs without them."""

CoreEvent = (
    IntentNamed | IntentDone | IntentSettled | PersonDecided | InboxTaken | BlobRedacted | BlobsCollected | TailSetAside
)
