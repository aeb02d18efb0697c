"""Durations and sizes as people write them on a command line: `30d`, `90m`, `1MiB`, `500kB`."""

import re

from headway.core.errors import HeadwayError

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def seconds_of(text: str) -> float:
    """`90s`, `15m`, `2h`, `30d`, `1w` in seconds. Raises HeadwayError."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip())
    if found is None:
        raise HeadwayError(f"{text!r} is not a duration.", "Write one like 90s, 15m, 2h, 30d or 1w.")
    return float(found[1]) * SECONDS[found[2]]


def bytes_of(text: str) -> int:
    """`64KiB`, `1MiB`, `500kB` or a plain number in bytes. Raises HeadwayError."""
    found = re.fullmatch(r"(\d+)\s*([kKMG]i?B|B)?", text.strip())
    if found is None or (found[2] or "B") not in BYTES:
        raise HeadwayError(f"{text!r} is not a size.", "Write one like 4096, 64KiB, 1MiB or 2GB.")
    return int(found[1]) * BYTES[found[2] or "B"]
