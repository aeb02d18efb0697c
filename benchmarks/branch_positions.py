"""Is the fork green at every position its landing branch ever had? Asked of git's reflog, not of headway's log.

    python -m benchmarks.branch_positions --fork DIR --test 'python -m pytest -q' [--branch headway/sync] [--json]

Each position is exported into a folder of its own and the command is run there by `sh -c`; exit code 0 is green.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Row, could_not_run, show

SCHEMA = "headway.bench.branch_positions/1"


def main(argv: Sequence[str] | None = None) -> int:
    """Print one row a position; exit code 1 if one is red, 4 if there is no such branch."""
    options = _options(argv)
    positions = _positions(options.fork, options.branch)
    if not positions:
        return show(SCHEMA, [could_not_run("positions", f"no branch {options.branch}")], as_json=options.json)
    rows = [_row(options.fork, sha, options.test) for sha in positions]
    code = show(SCHEMA, rows, as_json=options.json)
    return code or int(any(row["exit"] != 0 for row in rows))


def _positions(fork: Path, branch: str) -> list[str]:
    """The commit the branch grew from, then every value its reflog holds, oldest first."""
    reflog = _git(fork, "reflog", "show", "--format=%H", f"refs/heads/{branch}").split()[::-1]
    return [_git(fork, "rev-parse", f"{reflog[0]}^").strip(), *reflog] if reflog else []


def _row(fork: Path, sha: str, test: str) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        archive = subprocess.run(["git", "archive", sha], cwd=fork, capture_output=True, check=True)
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        began = time.monotonic()
        env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        ran = subprocess.run(["sh", "-c", test], cwd=folder, env=env, capture_output=True, text=True, check=False)
    last = ran.stdout.strip().splitlines()[-1:] or [""]
    return {
        "position": sha[:12],
        "exit": ran.returncode,
        "seconds": round(time.monotonic() - began, 1),
        "said": last[0],
    }


def _git(fork: Path, *args: str) -> str:
    ran = subprocess.run(["git", *args], cwd=fork, capture_output=True, text=True, check=False)
    return ran.stdout if ran.returncode == 0 else ""


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.branch_positions", description=__doc__)
    parser.add_argument("--fork", type=Path, required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--branch", default="headway/sync")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
