"""What two failures have in common, as a key: their words without what changes from run to run. Pure.

A signature that says too little (`exit 1`, `assert False`) would lump unrelated failures together, and has in the field
let real ones through; it is bound to its test. One that says enough stands for all tests that fail with it.
"""

import hashlib
import re

from headway.core.names import TestId

KEY_CHARACTERS = 16
_VOLATILE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"0x[0-9a-fA-F]+"), "<address>"),
    (re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b"), "<hash>"),
    (re.compile(r"(?<![\w.])(?:/[^\s:'\",()<>]+)+/([^\s:'\",()<>/]+)"), r"\1"),
    (re.compile(r"(?<![A-Za-z_])[-+]?\d+(\.\d+)?([eE][-+]?\d+)?"), "<n>"),
    (re.compile(r"\s+"), " "),
)
_TELLING = re.compile(r"[A-Za-z_]{3,}")
_GENERIC = frozenset(
    "exit exited code status assert assertion assertionerror error failed failure false true none test tests fails"
    " exception runtimeerror valueerror keyerror typeerror systemexit timeout timed out returned with non zero call"
    " though the died command step ended not equal expected got actual was but and for from".split()
)
TELLING_WORDS = 2


def normalised(words: str) -> str:
    """`words` without numbers, addresses, hashes, folders and times."""
    for pattern, instead in _VOLATILE:
        words = pattern.sub(instead, words)
    return words.strip()


def tells_enough(words: str) -> bool:
    """Whether normalised words are about something in particular."""
    telling = {word.lower() for word in _TELLING.findall(re.sub(r"<\w+>", "", words))} - _GENERIC
    return len(telling) >= TELLING_WORDS


def signature_of(suite: str, test: TestId, words: str) -> str:
    """The key of a failure: 16 hex digits. Parameters of the test never count."""
    plain = normalised(words)
    parts = (suite, plain) if tells_enough(plain) else (suite, test.partition("[")[0], plain)
    return _key("test", *parts)


def metric_signature(suite: str, metric: str) -> str:
    """The key of one metric's having become worse."""
    return _key("metric", suite, metric)


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:KEY_CHARACTERS]
