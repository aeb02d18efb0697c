"""An unattended campaign on a real compiler: detached, killed ten times, stopped once and started again.

    python -m benchmarks.long_campaign --minutes 90 --evaluations 1000 --kills 10 --keep DIR --json

Everything goes through the command line, as a person would do it: `tune run --detach`, SIGKILL from outside, `tune
resume --detach`, `tune stop`. DIR keeps the campaign's folder with its state, `kills.jsonl` (time, pid, the last event
before, the signal that was sent), `curve.csv` (attempts, seconds used, re-measured ratio of the incumbent with its
interval), `report.html`, and `summary.json`, which a stranger can recount with `headway log export`.
"""

import argparse
import csv
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.table import show
from headway.core.events_tune import JobDone

SCHEMA = "headway.long-campaign/1"
POLL_SECONDS = 5.0
GONE_SECONDS = 120.0


def headway(*arguments: str) -> str:
    """Run one headway command; returns its stdout. Raises CalledProcessError with its words where it fails."""
    done = subprocess.run([sys.executable, "-m", "headway", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        done.check_returncode()
    return done.stdout


def board(folder: Path) -> dict[str, Any]:
    """What `tune show --json` says of the campaign."""
    found: dict[str, Any] = json.loads(headway("tune", "show", str(folder), "--json"))
    return found


def exported(folder: Path) -> list[dict[str, Any]]:
    """The log as `log export` writes it, one record a line."""
    return [json.loads(line) for line in headway("log", "export", "--state", str(folder / ".headway")).splitlines()]


def started(words: str) -> int:
    """The pid that `--detach` names."""
    return int(re.search(r"pid (\d+)", words).group(1))  # type: ignore[union-attr]  # words without a pid are a bug here


def gone(pid: int) -> bool:
    """Whether the process has ended; it is not ours to wait for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until_gone(pid: int) -> None:
    """Wait for a process of another session; fails loudly, since two loops must never be mixed up."""
    end = time.monotonic() + GONE_SECONDS
    while not gone(pid):
        if time.monotonic() > end:
            raise TimeoutError(f"process {pid} is still there after {GONE_SECONDS:g} s")
        time.sleep(0.1)


def campaign(keep: Path, minutes: float, evaluations: int, kills: int, seed: int) -> None:
    """Run until both `minutes` and `evaluations` are reached, with `kills` SIGKILLs and one stop and start between."""
    folder, chance, began = keep / "campaign", random.Random(seed), time.monotonic()
    wide = ["--attempts", "100000", "--seconds", str(10 * 86_400), "--stall", "100000", "--min-gain", "0.05"]
    start = ["tune", "run", "cpu-matmul", *wide, "--seed", str(seed), "--dir", str(folder), "--detach"]
    pid = started(headway(*start))
    moments = sorted(chance.uniform(0.02, 0.98) * minutes * 60 for _ in range(kills))
    stop_at = minutes * 30
    with (keep / "kills.jsonl").open("w") as diary:
        while True:
            now = time.monotonic() - began
            if gone(pid):
                raise RuntimeError(f"the campaign ended by itself: {board(folder)['end']}")
            if moments and now >= moments[0]:
                moments.pop(0)
                last = exported(folder)[-1]
                os.kill(pid, signal.SIGKILL)
                line = {"time": round(now, 1), "pid": pid, "last_event": last["type"], "signal": "SIGKILL"}
                print(json.dumps(line), file=diary, flush=True)
                wait_until_gone(pid)
                pid = started(headway("tune", "resume", str(folder), "--detach"))
            elif stop_at and now >= stop_at:
                stop_at = 0
                headway("tune", "stop", str(folder))
                wait_until_gone(pid)
                pid = started(headway("tune", "resume", str(folder), "--detach"))
            elif not moments and now >= minutes * 60 and len(board(folder)["attempts"]) >= evaluations:
                headway("tune", "stop", str(folder))
                wait_until_gone(pid)
                return
            time.sleep(POLL_SECONDS)


def summary(keep: Path) -> dict[str, Any]:
    """Recount the campaign from its exported log and write the files that stay."""
    folder = keep / "campaign"
    shown, records = board(folder), exported(folder)
    jobs = Counter(r["payload"]["key"] for r in records if r["type"] == JobDone.TYPE)
    promoted = [row for row in shown["attempts"] if row["verdict"] == "promoted"]
    curve = [(row["attempt"], row["at_seconds"], row["ratio"], *row["interval"]) for row in promoted]
    with (keep / "curve.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("attempt", "seconds", "ratio", "low", "high"), *curve])
    headway("tune", "report", str(folder), "--output", str(keep / "report.html"))
    lines = [line for line in (keep / "kills.jsonl").read_text().splitlines() if line]
    digest = hashlib.sha256("\n".join(json.dumps(r, sort_keys=True) for r in records).encode()).hexdigest()
    found = {
        "schema": SCHEMA,
        "attempts": len(shown["attempts"]),
        "evaluations": sum(jobs.values()),
        "counted_twice": sum(count > 1 for count in jobs.values()),
        "kills": len(lines),
        "seconds": shown["spent"]["seconds"],
        "verdicts": dict(Counter(row["verdict"] for row in shown["attempts"])),
        "refused": shown["refused"],
        "incumbent": curve[-1] if curve else None,
        "records": len(records),
        "log_sha256": digest,
    }
    (keep / "summary.json").write_text(json.dumps(found, indent=2) + "\n")
    return found


def main() -> int:
    """Run, recount, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=90)
    parser.add_argument("--evaluations", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, required=True)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    campaign(options.keep, options.minutes, options.evaluations, options.kills, options.seed)
    found = summary(options.keep)
    if options.json:
        print(json.dumps(found))
        return 0
    return show(SCHEMA, [{"what": key, "found": str(value)} for key, value in found.items()], as_json=False)


if __name__ == "__main__":
    sys.exit(main())
