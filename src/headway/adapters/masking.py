"""Takes known secrets out of text and bytes before they are written. It knows three kinds:

- values of environment variables whose name says secret, and passwords in URLs found in the environment;
- user-info in any URL;
- strings with the shape of a token, a JWT, an Authorization header or a private key.

What it does not know (a password nobody named, a token in base64) it cannot mask; `headway log redact` removes it.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from headway.core.cutting import CUT_MARK
from headway.core.events import canonical_json

MASK = b"[masked]"
SHORTEST = 8
"""Shorter values mask ordinary words."""
SHORTEST_PIECE = 6
"""Of a secret that a cut went through."""

SECRET_NAME = re.compile(
    r"TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|APIKEY|(?:^|_)(?:PASS|PAT|KEY|KEYS|AUTH)(?:_|$)|KEY$", re.I
)
HARMLESS_NAME = re.compile(r"^GIT_CONFIG_KEY_|_(?:FILE|PATH|DIR|SOCK)$", re.I)
"""Git's own `GIT_CONFIG_KEY_n` are option names; the others hold places, and masking a place breaks facts."""


@dataclass(frozen=True)
class Shape:
    """A kind of token. `anchors`: one of them is in every match, so that clean bytes cost only a substring search."""

    name: str
    anchors: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    masked: bytes | Callable[[re.Match[bytes]], bytes] = MASK


def _user_info(found: re.Match[bytes]) -> bytes:
    """`ssh://git@host` names no secret and is needed to fetch; anything before an `@` of http may be a token."""
    before = found.string[max(0, found.start() - 5) : found.start()]
    if b":" not in found[1] and not before.lower().endswith((b"http", b"https")):
        return found[0]
    return b"://" + MASK + b"@"


SHAPES: tuple[Shape, ...] = (
    Shape("private key", (b"PRIVATE KEY-----",), re.compile(
        rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)", re.S)),
    Shape("user-info", (b"://",), re.compile(rb"://([^\s/?#\"'<>\\]+)@"), _user_info),
    Shape("authorization", (b"uthorization", b"UTHORIZATION"), re.compile(
        rb"(authorization[\"']?\s*[:=]\s*[\"']?(?:basic|bearer|token)\s+)[^\s\"'\\]+", re.I), rb"\1" + MASK),
    Shape("GitHub", (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_"), re.compile(rb"gh[pousr]_[A-Za-z0-9]{16,}")),
    Shape("GitHub, fine-grained", (b"github_pat_",), re.compile(rb"github_pat_[A-Za-z0-9_]{16,}")),
    Shape("GitLab", (b"glpat-", b"gldt-", b"glrt-", b"glptt-", b"glcbt-"), re.compile(
        rb"gl(?:pat|dt|rt|ptt|cbt)-[A-Za-z0-9_.-]{16,}")),
    Shape("model provider", (b"sk-",), re.compile(rb"(?<![A-Za-z0-9_-])sk-(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{16,}")),
    Shape("AWS", (b"AKIA", b"ASIA"), re.compile(rb"(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])")),
    Shape("Slack", (b"xox", b"xapp-"), re.compile(rb"(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}")),
    Shape("Google", (b"AIza",), re.compile(rb"AIza[A-Za-z0-9_-]{30,}")),
    Shape("Hugging Face", (b"hf_",), re.compile(rb"(?<![A-Za-z0-9_])hf_[A-Za-z0-9]{30,}")),
    Shape("npm, PyPI", (b"npm_", b"pypi-"), re.compile(rb"npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}")),
    Shape("JWT", (b"eyJ",), re.compile(
        rb"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{5,}\.eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]*")),
)  # fmt: skip
"""The visible registry of token shapes. Every pattern is linear in its input."""

KEY_END = re.compile(rb"-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----")
KEY_LINE = re.compile(rb"[ \t]*[A-Za-z0-9+/=]{16,}\s*")
LAST_KEY_LINE = re.compile(rb"[ \t]*[A-Za-z0-9+/=]*\s*")


class Masker:
    """Holds the secrets of one environment. Masking what is masked changes nothing."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {form for secret in secrets for form in _forms(secret) if len(form) >= SHORTEST}
        self._literals = tuple(sorted(known, key=lambda form: (-len(form), form)))
        anchors = (anchor for shape in SHAPES for anchor in shape.anchors)
        self._signs = tuple(sign.decode("utf-8", "surrogateescape") for sign in (*anchors, *self._literals))

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> "Masker":
        """Values (8 characters or more) of variables named like a secret, and passwords in URLs among all values."""
        secrets = [value for name, value in env.items() if _names_a_secret(name)]
        for value in env.values():
            secrets += [unquote(password) for password in re.findall(r"://[^\s/:@]*:([^\s/@]+)@", value)]
        return cls(secrets)

    def mask(self, content: bytes) -> bytes:
        """`content`, UTF-8 or not, with every known secret replaced by `[masked]`, also beside a cut."""
        if CUT_MARK.search(content) is None:
            return self._mask_whole(content)
        pieces = CUT_MARK.split(content)  # text, mark, text, mark, … text
        last = len(pieces) - 1
        for at in range(0, last + 1, 2):
            pieces[at] = self._mask_ends(self._mask_whole(pieces[at]), starts_cut=at > 0, ends_cut=at < last)
        return b"".join(pieces)

    def mask_payload(self, payload: str) -> str:
        """An event's canonical JSON with secrets masked inside its strings; still canonical JSON."""
        for sign in self._signs:
            if sign in payload:
                break
        else:
            return payload
        return canonical_json(self._mask_value(json.loads(payload)))

    def _mask_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.mask(value.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
        if isinstance(value, list):
            return [self._mask_value(item) for item in value]
        if isinstance(value, dict):
            return {self._mask_value(key): self._mask_value(item) for key, item in value.items()}
        return value

    def _mask_whole(self, content: bytes) -> bytes:
        for literal in self._literals:
            if literal in content:
                content = content.replace(literal, MASK)
        for shape in SHAPES:
            if any(anchor in content for anchor in shape.anchors):
                content = shape.pattern.sub(shape.masked, content)
        while orphan := KEY_END.search(content):
            content = content[: _start_of_key(content, orphan.start())] + MASK + content[orphan.end() :]
        return content

    def _mask_ends(self, piece: bytes, *, starts_cut: bool, ends_cut: bool) -> bytes:
        """A cut may have gone through a secret with spaces in it: look for its beginning or end at the cut."""
        for literal in self._literals:
            for length in range(len(literal) - 1, SHORTEST_PIECE - 1, -1):
                if ends_cut and piece.endswith(literal[:length]):
                    piece = piece[:-length] + MASK
                if starts_cut and piece.startswith(literal[-length:]):
                    piece = MASK + piece[length:]
        return piece


def _names_a_secret(name: str) -> bool:
    return SECRET_NAME.search(name) is not None and HARMLESS_NAME.search(name) is None


def _forms(secret: str) -> Iterable[bytes]:
    """The spellings a secret is found in: as it is, in JSON, in a URL, and line by line if it has several."""
    secret = secret.strip()
    yield secret.encode("utf-8", "surrogateescape")
    yield json.dumps(secret, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape")
    yield json.dumps(secret)[1:-1].encode()
    yield quote(secret, safe="", errors="surrogateescape").encode()
    lines = secret.splitlines()
    if len(lines) > 1:
        yield from (line.strip().encode("utf-8", "surrogateescape") for line in lines if len(line.strip()) >= 16)


def _start_of_key(content: bytes, end: int) -> int:
    """Where the base64 lines above an END line begin whose BEGIN line is gone (somebody kept only the tail)."""
    start = end
    while start > 0:
        line_start = content.rfind(b"\n", 0, start - 1) + 1
        line = LAST_KEY_LINE if start == end else KEY_LINE
        if not line.fullmatch(content, line_start, start):
            break
        start = line_start
    return start


NOTHING_KNOWN = Masker()
"""Masks shapes and URLs, knows no environment."""
