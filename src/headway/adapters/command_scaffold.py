"""Writes a new task folder around a metric command that exists: the tree is copied, and the rules are a start."""

import json
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.command_task_files import MOST_TREE_BYTES
from headway.adapters.durable_files import write_text_durably
from headway.adapters.processes import run
from headway.core.command_task import matches
from headway.core.errors import HeadwayError

SHELL = re.compile(r"[|&;<>()$`*?~]")
SKIPPED = frozenset({"__pycache__", "node_modules"})

TASK = """schema = "headway.task/1"
id = {id}
kind = "command"
summary = {summary}

[goal]
text = \"\"\"
{text}
\"\"\"
metric = {metric}
direction = {direction}

[files]
editable = {editable}
{tests}
# One finite number, alone on stdout. A program that runs the candidate's own code can be made to lie: give that program
# as `run`, let it leave files in {{out}}, and let `command` read them.
[metric]
command = {command}
deterministic = false
repetitions = 1
add = 0
seconds = 300
{guards}
[budget]
attempts = 100
seconds = 3600
stall = 30
"""

GUARD = """
[[guards]]
name = {name}
command = {command}
seconds = 600
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What `tune new --from-command` was asked for."""

    command: str
    tree: Path
    editable: tuple[str, ...]
    tests: tuple[str, ...] = ()
    guards: tuple[str, ...] = ()
    direction: str = "lower"


def scaffold_command(folder: Path, task_id: str, wanted: Wanted) -> None:
    """Write the folder. Raises HeadwayError, one sentence, before anything is written."""
    if folder.exists() and any(folder.iterdir()):
        raise HeadwayError(f"{folder} is not empty.", "Name a new folder.")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", task_id):
        raise HeadwayError(f"{task_id!r} cannot be the id of a task.", "Use small letters, digits and hyphens.")
    if wanted.direction not in ("lower", "higher"):
        raise HeadwayError(f"{wanted.direction!r} is no direction.", "Say lower or higher.")
    if not wanted.editable:
        raise HeadwayError("Nothing may be edited.", "Add --editable 'src/**/*.py'; it may be repeated.")
    argv, guards = argv_of(wanted.command), [_guard(text) for text in wanted.guards]
    files = tree_files(wanted.tree, folder)
    if not any(matches(path, wanted.editable) for path in files):
        raise HeadwayError(f"No file of {wanted.tree} matches {', '.join(wanted.editable)}.", "Correct --editable.")
    for path in files:
        place = folder / "tree" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(wanted.tree / path, place)
    better = "smaller" if wanted.direction == "lower" else "larger"
    body = TASK.format(
        id=json.dumps(task_id),
        summary=json.dumps(f"the number that `{wanted.command}` prints"),
        text=f"Make the number that the metric command prints {better}, and keep everything that the guards check.",
        metric=json.dumps(f"what `{wanted.command}` prints"),
        direction=json.dumps(wanted.direction),
        editable=json.dumps(list(wanted.editable)),
        tests=f"tests = {json.dumps(list(wanted.tests))}\n" if wanted.tests else "",
        command=json.dumps(list(argv)),
        guards="".join(GUARD.format(name=json.dumps(n), command=json.dumps(list(a))) for n, a in guards),
    )
    write_text_durably(folder / "task.toml", [body])


def argv_of(command: str) -> tuple[str, ...]:
    """The command's arguments; one with a pipe or the like goes through the shell."""
    try:
        parts = tuple(shlex.split(command))
    except ValueError as wrong:
        raise HeadwayError(f"The command {command!r} is no command line: {wrong}.") from wrong
    if not parts:
        raise HeadwayError("The metric command is empty.", "Give one that prints a number.")
    return ("sh", "-c", command) if SHELL.search(command) else parts


def tree_files(tree: Path, without: Path) -> list[str]:
    """Files of a folder to copy: those that git knows, where git knows it, else all but dot files and caches."""
    if not tree.is_dir():
        raise HeadwayError(f"{tree} is no folder.", "Name the project's folder with --tree.")
    listed = run(["git", "-C", str(tree), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], ok=None)
    if listed.code == 0:
        names = sorted(filter(None, listed.stdout.decode("utf-8", "surrogateescape").split("\0")))
    else:
        names = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file())
        names = [n for n in names if not any(p.startswith(".") or p in SKIPPED for p in n.split("/"))]
    outside = without.resolve()
    kept = [n for n in names if _is_plain(tree / n) and not (tree / n).resolve().is_relative_to(outside)]
    size = sum((tree / name).stat().st_size for name in kept)
    if size > MOST_TREE_BYTES:
        raise HeadwayError(
            f"{tree} has {size >> 20} MiB, and a task's tree is copied for every run.", "Name a smaller folder."
        )
    return kept


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _guard(text: str) -> tuple[str, tuple[str, ...]]:
    name, equals, command = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise HeadwayError(f"{text!r} is no guard.", "Write it like tests='python -m pytest -q'.")
    return name, argv_of(command)
