"""Names as types: what a string means when it is not free text."""

from typing import NewType

Sha = NewType("Sha", str)
"""A full 40-digit commit id, e.g. `2ac060b8b0f0…`."""

TreeId = NewType("TreeId", str)
"""A full 40-digit tree id. Two changes with the same tree have the same effect."""

StreamId = NewType("StreamId", str)
"""`fork/<id>`, `change/<fork>/<sha>`, `campaign/<id>`, `validation/<id>`, `log/upkeep`, and beside a loop's home stream
`inbox/<home>` and `submissions/<home>`."""

BlobId = NewType("BlobId", str)
"""`sha256:<64 hex digits>` of the masked, uncompressed content."""

Digest = NewType("Digest", str)
"""sha256 in hex of something that is not kept as a blob (a goal, a task folder, a config file)."""

TestId = NewType("TestId", str)
"""A test identity normalised across harnesses; see `core/testid.py`."""

EffectKey = NewType("EffectKey", str)
"""Idempotency key of one outside effect: the same key never takes effect twice."""
