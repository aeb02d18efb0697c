"""Trouble of the machine or the network, told from the change's by what a failure says; real errors veto it.

The veto exists because the patterns are greedy by nature: a log that mentions a slow download is no excuse for an
assertion that failed after it.
"""

import re

PATTERNS: dict[str, str] = {
    "network": r"connection (?:reset|refused|timed out|aborted)|temporary failure in name resolution"
    r"|could not resolve host|network is unreachable|remote end closed connection|read timed out"
    r"|tls handshake|http(?:error)?[ :]+(?:429|50[0234])",
    "disk": r"no space left on device|disk quota exceeded|read-only file system",
    "memory of the machine": r"cannot allocate memory|killed by the oom|out of memory: killed process",
    "device lost": r"no cuda-capable device|cuda driver version is insufficient|device is busy or unavailable"
    r"|has fallen off the bus|uncorrectable ecc|nvml.*(?:unknown error|gpu is lost)",
    "too many files": r"too many open files|resource temporarily unavailable",
}
"""kind -> pattern, matched without case in what one failure says of itself."""

VETO = re.compile(
    r"assert|outofresources|out of resource|misaligned address|illegal (?:memory access|instruction|address)"
    r"|segmentation fault|segfault|core dumped|sigsegv|sigabrt|stack dump|llvm error|internal compiler error"
    r"|unreachable executed|(?:^|\s)(?:fatal )?error: |traceback|mismatch|not close|nan\b|failed to legalize"
    r"|verification failed",
    re.IGNORECASE,
)
"""Never excused, whatever else the text says."""

_COMPILED = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in PATTERNS.items()}


def infrastructure_kind(said: str) -> str:
    """Which kind of infrastructure trouble a failure's own words show; "" if none, or if they show a real error."""
    if VETO.search(said):
        return ""
    return next((kind for kind, pattern in _COMPILED.items() if pattern.search(said)), "")
