"""Signatures by `ssh-keygen -Y`. Every failure is looked into, so that a refusal can say what is wrong."""

import re
import tempfile
from pathlib import Path

from headway.adapters import processes
from headway.core.errors import HeadwayError
from headway.core.ports.signatures import NotVerified, Verified

NAMESPACE = "headway-signoff"
"""Bound into every signature: one made for git, or for another tool, is not one of ours."""
_KEY = re.compile(r"key (SHA256:\S+)")
SECONDS = 60.0


class SshSignatures:
    """`Signatures` by OpenSSH."""

    def verify(
        self, message: bytes, signature: bytes, principal: str, allowed: bytes, revoked: bytes = b""
    ) -> Verified | NotVerified:
        """See the port."""
        with tempfile.TemporaryDirectory(prefix="headway-signature-") as folder:
            signed, signers, dead = (Path(folder, name) for name in ("message.sig", "allowed", "revoked"))
            signed.write_bytes(signature)
            signers.write_bytes(allowed)
            dead.write_bytes(revoked)
            revocation = ["-r", str(dead)] if revoked else []
            sig = ["-n", NAMESPACE, "-s", str(signed)]
            good = _keygen(["verify", "-f", str(signers), "-I", principal, *sig, *revocation], message)
            if good.code == 0 and (found := _KEY.search(good.stdout.decode("utf-8", "replace"))):
                return Verified(principal, found[1])
            whole = _keygen(["check-novalidate", *sig], message)
            if whole.code != 0:
                return NotVerified("it is no signature of exactly this statement", of_these_bytes=False)
            said = _KEY.search(whole.stdout.decode("utf-8", "replace"))
            key = said[1] if said else "its key"
            if revoked and _keygen(["verify", "-f", str(signers), "-I", principal, *sig], message).code == 0:
                return NotVerified(f"{key} is revoked", of_these_bytes=True, revoked=True)
            return NotVerified(_why(key, principal, signers, sig, allowed), of_these_bytes=True)

    def sign(self, message: bytes, key: Path) -> bytes:
        """See the port. ssh-keygen may ask for a passphrase on the terminal."""
        with tempfile.TemporaryDirectory(prefix="headway-signature-") as folder:
            file = Path(folder, "message")
            file.write_bytes(message)
            made = _keygen(["sign", "-q", "-f", str(key), "-n", NAMESPACE, str(file)], b"")
            if made.code != 0 or not file.with_suffix(".sig").exists():
                raise HeadwayError(
                    f"ssh-keygen did not sign with {key}: {made.complaint}.", "Give a private key, or sign by hand."
                )
            return file.with_suffix(".sig").read_bytes()


def _why(key: str, principal: str, signers: Path, sig: list[str], allowed: bytes) -> str:
    """Of a signature that is whole and not the principal's."""
    owners = _keygen(["find-principals", "-f", str(signers), *sig[2:]], b"")
    named = owners.text.splitlines()[0] if owners.code == 0 and owners.text else ""
    if named and named != principal:
        return f"{key} is {named}'s key, not {principal}'s"
    listed = any(principal in line.split(None, 1)[0].split(",") for line in _lines(allowed))
    if named:
        return f"{key} may not sign here now (its validity or namespaces in the list of signers)"
    return f"{key} is not listed for {principal}" if listed else f"{principal} is not among the allowed signers"


def _lines(allowed: bytes) -> list[str]:
    text = allowed.decode("utf-8", "replace")
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def _keygen(args: list[str], message: bytes) -> processes.Ran:
    return processes.run(["ssh-keygen", "-Y", *args], stdin=message, ok=None, timeout=SECONDS)
