"""The signature port: SSH signatures as git uses them, against a file of allowed signers.

Adapter: `adapters/ssh_signatures.py`. OpenSSH is its own fake, as git is: tests make keys and sign for real.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Verified:
    """The signature is `principal`'s: made by a key that was listed for them, not revoked, of exactly these bytes."""

    principal: str
    key: str
    """The key's fingerprint, `SHA256:…`."""


@dataclass(frozen=True, slots=True)
class NotVerified:
    """`why` is one clause. `of_these_bytes`: the signature is good for them, only not by whom it should be."""

    why: str
    of_these_bytes: bool
    revoked: bool = False


class Signatures(Protocol):
    """Both raise CouldNotRun where OpenSSH is absent."""

    def verify(
        self, message: bytes, signature: bytes, principal: str, allowed: bytes, revoked: bytes = b""
    ) -> Verified | NotVerified:
        """Whether `signature` of `message` is good. `allowed` and `revoked` are files in OpenSSH's forms."""
        ...

    def sign(self, message: bytes, key: Path) -> bytes:
        """The signature by a private key file (or an agent's public key). Raises HeadwayError where it is refused."""
        ...
