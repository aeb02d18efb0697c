"""Trailers at the end of a commit message, read and added as bytes: a message keeps whatever encoding it has."""

import re
from collections.abc import Iterable

UPSTREAM_COMMIT = "Upstream-Commit"
UPSTREAM_PR = "Upstream-PR"
RESOLVED_BY = "Resolved-By"
HEADWAY_BUNDLE = "Headway-Bundle"
"""`ID n/m`: the n-th of m commits that landed together; L1 saw only the last of them."""

_LINE = re.compile(rb"^([A-Za-z0-9][A-Za-z0-9-]*):[ \t]+(\S.*?)\s*$")
_CHERRY = re.compile(rb"^\(cherry picked from commit [0-9a-f]{7,64}\)\s*$")


def read_trailers(message: bytes, *, anywhere: bool = False) -> tuple[tuple[str, str], ...]:
    """(key, value) pairs of the last paragraph, in order.

    `anywhere=True` takes lines of every paragraph: a squashed landing has the trailers of many messages in its middle.
    """
    text = message if anywhere else _last_paragraph(message)
    found = (_LINE.match(line) for line in text.split(b"\n"))
    return tuple((m[1].decode("ascii"), m[2].decode("utf-8", "replace")) for m in found if m)


def add_trailers(message: bytes, trailers: Iterable[tuple[str, str]]) -> bytes:
    """The message with trailers appended; they join a block of trailers that is already there."""
    lines = [f"{key}: {value}".encode() for key, value in trailers]
    if not lines:
        return message
    body = message.rstrip(b"\n")
    joint = b"\n" if _is_trailer_block(body) else b"\n\n"
    return (body + joint if body else b"") + b"\n".join(lines) + b"\n"


def _last_paragraph(message: bytes) -> bytes:
    return message.rstrip().rpartition(b"\n\n")[2]


def _is_trailer_block(message: bytes) -> bool:
    """The first paragraph is the subject, never trailers, whatever it looks like (`git: fix this`)."""
    if b"\n\n" not in message:
        return False
    return all(_LINE.match(line) or _CHERRY.match(line) for line in _last_paragraph(message).split(b"\n"))
