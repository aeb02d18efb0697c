"""`headway sync plan` of N pending changes of the Triton history: cold, warm, memory, and the fork's object count.

The repository must hold both sides (see `benchmarks/adopt_triton.py`). A fork is made of it: one commit with the tree
of `--trunk` on the change N before `--upstream`. The plan is asked for through the command line in fresh processes.

    python -m benchmarks.plan_triton --repo JOINED.git [--pending 250] [--json]
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.table import Row, could_not_run, show

SCHEMA = "headway.bench.plan_triton/1"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; exit code 4 where the repository is absent."""
    options = _options(argv)
    if not options.repo.is_dir():
        return show(SCHEMA, [could_not_run("plan", f"{options.repo} is absent")], as_json=options.json)
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        fork = _fork(options, Path(folder))
        before = _git(fork, "count-objects", "-v")
        rows: list[Row] = []
        for name, must in (("cold", "<= 20 s"), ("warm", "<= 2 s")):
            began, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            said = _headway(fork, "sync", "plan", "--no-fetch")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime
            rows.append({"name": f"plan, {name}", "seconds": time.monotonic() - began, "cpu": cpu, "must": must})
        rows.append({"name": "largest process, MB", "seconds": after.ru_maxrss / 1000, "must": "<= 1000"})
        same = _git(fork, "count-objects", "-v") == before
        rows.append({"name": "objects of the fork unchanged", "seconds": str(same), "must": "True"})
        rows.append({"name": said.strip().splitlines()[-1]})
    return show(SCHEMA, rows, as_json=options.json)


def _fork(options: argparse.Namespace, folder: Path) -> Path:
    """A fork whose trunk is Meta's main, opened against an upstream branch with N changes past the common base."""
    upstream = _git(options.repo, "rev-parse", options.upstream)
    base = _git(options.repo, "rev-parse", f"{upstream}~{options.pending}")
    trunk = _git(options.repo, "rev-parse", options.trunk)
    source, fork = folder / "upstream.git", folder / "fork"
    for path, args in ((source, ("--bare",)), (fork, ())):
        subprocess.run(["git", "init", "-q", *args, str(path)], check=True)
        objects = (path if args else path / ".git") / "objects" / "info" / "alternates"
        objects.parent.mkdir(exist_ok=True)
        objects.write_text(_git(options.repo, "rev-parse", "--path-format=absolute", "--git-path", "objects") + "\n")
    _git(source, "update-ref", "refs/heads/main", upstream)
    _git(source, "symbolic-ref", "HEAD", "refs/heads/main")
    # trunk: Meta's tree, cut from the base, so that exactly N changes are pending
    tree = _git(options.repo, "rev-parse", f"{trunk}^{{tree}}")
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    commit = _git(fork, *identity, "commit-tree", "-p", base, "-m", "fork: everything", tree)
    _git(fork, "update-ref", "refs/heads/main", commit)
    _git(fork, "symbolic-ref", "HEAD", "refs/heads/main")
    _git(fork, "read-tree", "HEAD")
    # nothing is checked out: the snapshot lacks large files, and a plan reads none
    paths = subprocess.run(["git", "ls-files", "-z"], cwd=fork, capture_output=True, check=True).stdout
    skip = ["git", "update-index", "--skip-worktree", "-z", "--stdin"]
    subprocess.run(skip, cwd=fork, input=paths, check=True)
    _headway(fork, "init", "--upstream", str(source), "--branch", "main", "--trunk", "main")
    return fork


def _headway(fork: Path, *args: str) -> str:
    argv = [sys.executable, "-m", "headway", *args]
    ran = subprocess.run(argv, cwd=fork, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise SystemExit(f"headway {' '.join(args)}: {ran.stderr}")
    return ran.stdout


def _git(where: Path, *args: str) -> str:
    return subprocess.run(["git", *args], cwd=where, capture_output=True, text=True, check=True).stdout.strip()


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--trunk", default="HEAD")
    parser.add_argument("--upstream", default="63068fcc")
    parser.add_argument("--pending", type=int, default=250)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
