"""A token planted in every way into the state, then the whole folder is searched: raw, decompressed, and exported."""

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.cli.main import exit_code_of
from headway.core.cutting import cut
from headway.core.events_core import IntentNamed, PersonDecided
from headway.core.inbox import leave
from headway.core.names import EffectKey, StreamId
from headway.core.ports.log import one
from headway.wiring import open_state

FORK = StreamId("fork/x")
PLANTED = {
    "in the environment": "plain words as a pass phrase",
    "in the environment, hex": "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
    "by its shape": "ghp_" + "Q7q8" * 9,
    "in a URL": "url-pass-word",
}
ENVIRONMENT = {
    "CI_DEPLOY_TOKEN": PLANTED["in the environment"],
    "SIGNING_KEY": PLANTED["in the environment, hex"],
    "https_proxy": f"http://user:{PLANTED['in a URL']}@proxy",
}
EVERYTHING = " ".join(PLANTED.values())


def test_no_planted_secret_is_anywhere_in_the_state_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    root = tmp_path / "state"
    with open_state(root) as state, state.lock():
        blob = state.blobs.put(f"test output: {EVERYTHING}\n")
        state.blobs.put(b"\xff\x00 not UTF-8: " + EVERYTHING.encode() + b" \xfe")
        state.blobs.put(cut(f"{EVERYTHING}\n".encode() * 500, 20_000))
        url = f"https://user:{PLANTED['in a URL']}@host/fork.git"
        intent = IntentNamed(
            f"commit message: {EVERYTHING}", EffectKey(f"push/{url}"), {"remote": url, EVERYTHING: "x"}
        )
        state.log.append(one(FORK, 0, intent))
        leave(state.log, FORK, PersonDecided("decide", "change", EVERYTHING, {"reason": EVERYTHING}))
    assert exit_code_of(["log", "redact", blob, "--reason", EVERYTHING, "--by", url, "--state", str(root)]) == 0
    assert exit_code_of(["log", "export", "--state", str(root), "--output", str(root / "export.jsonl")]) == 0
    assert exit_code_of(["log", "verify", "--state", str(root)]) == 0
    contents = list(everything_in(root))
    assert len(contents) >= 9 and any(b"[masked]" in content for _, content in contents)
    for how, secret in PLANTED.items():
        for piece in (secret, secret.replace(" ", "%20"), secret[: len(secret) * 2 // 3], secret[len(secret) // 3 :]):
            leaks = [str(path) for path, content in contents if piece.encode() in content]
            assert not leaks, f"a secret {how} is in {leaks}"


def test_the_search_itself_finds_what_is_there(tmp_path: Path) -> None:
    """Without this the test above could pass by looking at nothing."""
    with open_state(tmp_path, env={}) as state:
        state.blobs.put("hello plain words as a pass phrase")
        leave(state.log, FORK, PersonDecided("decide", "change", "me", {"reason": "some url-pass-word"}))
    found = [content for _, content in everything_in(tmp_path)]
    assert any(b"plain words" in content for content in found) and any(b"url-pass-word" in content for content in found)


def everything_in(root: Path) -> Iterator[tuple[Path, bytes]]:
    """Every file as it is, and once more decompressed where a zlib stream begins in it."""
    for folder, _, files in os.walk(root):
        for name in files:
            path = Path(folder) / name
            raw = path.read_bytes()
            yield path, raw
            for start in (found.end() for found in re.finditer(rb"headway-blob 1 \d+\n", raw)):
                yield path, zlib.decompressobj().decompress(raw[start:])
            if raw.startswith(b"\x1f\x8b"):
                yield path, gzip.decompress(raw)
