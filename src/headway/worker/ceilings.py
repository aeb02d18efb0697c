"""What this machine's GPU reaches at best: measured once, by a runner that never sees a candidate, and kept by card.

Told beside every figure, so that a reader sees how far a kernel is from the roof. No verdict hangs on it.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from .refusals import CouldNotRun, Refused
from .session import Session

SECONDS = 120.0
NAMES = ("copy_bytes", "matrix_flops", "launch_seconds")


def of_this_gpu(session: Callable[[], Session]) -> dict[str, str]:
    """`copy_bytes` and `matrix_flops` a second, `launch_seconds`: as text, like every fact of a machine.

    Empty where they cannot be measured: that is no reason to refuse a candidate.
    """
    place = _place()
    if place is not None and (kept := _kept(place)):
        return kept
    try:
        one = session()
    except (CouldNotRun, Refused, OSError):
        return {}
    try:
        told = one.order({"do": "ceilings"}, SECONDS).said
        found = {name: f"{float(told[name]):.6g}" for name in NAMES}
    except (CouldNotRun, Refused, KeyError, TypeError, ValueError):
        return {}
    finally:
        one.close()
    if place is not None:
        _keep(place, found)
    return found


def _place() -> Path | None:
    """One file a card, driver and power limit: another of these is another roof."""
    asked = ["nvidia-smi", "--query-gpu=uuid,name,driver_version,power.limit", "--format=csv,noheader"]
    try:
        done = subprocess.run(asked, capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode or not done.stdout.strip():
        return None
    card = hashlib.sha256(done.stdout + os.environ.get("CUDA_VISIBLE_DEVICES", "").encode()).hexdigest()[:16]
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "headway" / f"ceilings-{card}.json"


def _kept(place: Path) -> dict[str, str]:
    try:
        told = json.loads(place.read_text())
        return {name: f"{float(told[name]):.6g}" for name in NAMES}
    except (OSError, KeyError, TypeError, ValueError):
        return {}


def _keep(place: Path, found: dict[str, str]) -> None:
    """A file that cannot be written is measured again next time."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        building = place.with_suffix(f".{os.getpid()}")
        building.write_text(json.dumps(found))
        building.replace(place)
    except OSError:
        return
