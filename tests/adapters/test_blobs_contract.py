"""The contract of the blob store, held by the real one and its fake alike."""

import hashlib
from pathlib import Path

import pytest

from headway.adapters.file_blobs import FileBlobs
from headway.adapters.masking import Masker
from headway.adapters.memory_blobs import MemoryBlobs
from headway.core.names import BlobId
from headway.core.ports.blobs import BlobMissing

NOBODY = BlobId("sha256:" + "0" * 64)


@pytest.fixture(params=["files", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> FileBlobs | MemoryBlobs:
    masker = Masker(["correct horse battery"])
    return MemoryBlobs(masker=masker) if request.param == "memory" else FileBlobs(tmp_path / "blobs", masker=masker)


@pytest.mark.parametrize("content", [b"", b"x", b"\x00\xff" * 9, "ü 中".encode(), bytes(range(256)) * 5_000])
def test_what_was_put_is_got_by_the_hash_of_it(blobs: FileBlobs | MemoryBlobs, content: bytes) -> None:
    blob = blobs.put(content)
    assert blob == "sha256:" + hashlib.sha256(content).hexdigest()
    assert blobs.get(blob) == content
    info = blobs.info(blob)
    assert info is not None and info.bytes == len(content) and not info.redacted
    assert blobs.put(content) == blob


def test_text_is_stored_as_utf8_and_foreign_bytes_survive(blobs: FileBlobs | MemoryBlobs) -> None:
    assert blobs.get(blobs.put("ü")) == "ü".encode()
    assert blobs.get(blobs.put(b"\xff".decode("utf-8", "surrogateescape"))) == b"\xff"


def test_the_masked_content_is_what_is_hashed(blobs: FileBlobs | MemoryBlobs) -> None:
    blob = blobs.put(b"\xffsay correct horse battery \xfe")
    assert blobs.get(blob) == b"\xffsay [masked] \xfe"
    assert blob == "sha256:" + hashlib.sha256(blobs.get(blob)).hexdigest()


def test_a_blob_that_is_not_there_is_named(blobs: FileBlobs | MemoryBlobs) -> None:
    assert blobs.info(NOBODY) is None
    with pytest.raises(BlobMissing, match="sha256:0000"):
        blobs.get(NOBODY)


def test_a_removed_blob_may_come_back_and_a_redacted_one_may_not(blobs: FileBlobs | MemoryBlobs) -> None:
    gone, secret = blobs.put(b"gone"), blobs.put(b"secret")
    blobs.remove(gone)
    blobs.redact(secret)
    blobs.redact(secret)
    assert blobs.info(gone) is None
    with pytest.raises(BlobMissing, match="redacted"):
        blobs.get(secret)
    assert blobs.put(b"gone") == gone and blobs.get(gone) == b"gone"
    assert blobs.put(b"secret") == secret
    info = blobs.info(secret)
    assert info is not None and info.redacted and info.bytes == len(b"secret")
    with pytest.raises(BlobMissing, match="redacted"):
        blobs.get(secret)
    with pytest.raises(BlobMissing):
        blobs.redact(NOBODY)
