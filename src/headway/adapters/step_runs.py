"""Runs the steps of a `command` task: lays out a tree, runs what is not trusted, then what reads it. Decides nothing.

Each program gets a fresh copy of the tree and folders of its own, through the executor. Of `run` only what it left in
`{out}` goes on, less its links; `command` reads that and the tree as the candidate gave it.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from headway.adapters.local_executor import remove_tree
from headway.core.command_task import CommandTask, Step, filled
from headway.core.ports.executor import Command, Executor, Limits, Outcome
from headway.core.task import Task

SEEN = ("PATH", "LD_LIBRARY_PATH")
OUTPUT_BYTES = 1 << 20
FILE_BYTES = 256 << 20
PROCESSES = 512
STDOUT_BYTES = 64 << 10
# the executor gives stdout and stderr as one; a metric is read from stdout alone
_APART = ("/bin/sh", "-c", 'exec "$@" >"$HEADWAY_STDOUT"', "sh")


@dataclass(frozen=True, slots=True)
class StepDone:
    """What came of a step. `ran` is None where the step has no `run`; `said` is None where `run` already failed."""

    ran: Outcome | None
    said: Outcome | None
    stdout: str


@dataclass(frozen=True)
class StepRunner:
    """`tools` is what the task's setup made; `python` the interpreter that `{python}` stands for."""

    task: Task
    spec: CommandTask
    executor: Executor
    tools: Path | None
    python: str = ""

    @contextmanager
    def laid_out(self, files: Mapping[str, str]) -> Iterator[Path]:
        """The task's frozen files with these editable ones, as a folder that every run copies."""
        with _scratch("headway-tree-") as folder:
            tree = folder / "tree"
            shutil.copytree(self.spec.tree, tree, ignore=self._without_editable)
            for path, content in files.items():
                place = tree / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(content, "utf-8", newline="")
            yield tree

    def run(self, step: Step, tree: Path, seed: str, extra: Mapping[str, str] | None = None) -> StepDone:
        """One run of a step on a copy of `tree`. `extra` are further variables, for `command` alone."""
        with _scratch("headway-step-") as folder:
            out, own = folder / "out", folder / "tree"
            out.mkdir()
            ran = None
            if step.run:
                shutil.copytree(tree, own)
                ran = self._program(step, step.run, own, out, seed, (own, out), trusted=False)
                if ran.exit != 0:
                    return StepDone(ran, None, "")
                remove_tree(own)
                _without_links(out)
            shutil.copytree(tree, own)
            words = folder / "stdout"
            words.touch()
            writable = (out, words) if step.run else (own, out, words)
            variables = {**(extra or {}), "HEADWAY_STDOUT": str(words)}
            said = self._program(
                step, (*_APART, *step.command), own, out, seed, writable, trusted=bool(step.run), extra=variables
            )
            with words.open("rb") as file:
                return StepDone(ran, said, file.read(STDOUT_BYTES).decode("utf-8", "replace"))

    def _program(
        self,
        step: Step,
        argv: tuple[str, ...],
        tree: Path,
        out: Path,
        seed: str,
        writable: tuple[Path, ...],
        *,
        trusted: bool,
        extra: Mapping[str, str] | None = None,
    ) -> Outcome:
        places = {
            "task": str(self.task.folder),
            "tree": str(tree),
            "out": str(out),
            "tools": str(self.tools or ""),
            "python": self.python or os.environ.get("HEADWAY_WORKER_PYTHON") or sys.executable,
        }
        env = {name: os.environ[name] for name in SEEN if name in os.environ}
        env |= {"LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"}
        env |= {f"HEADWAY_{name.upper()}": places[name] for name in ("tree", "out", "tools")}
        if self.tools is not None:
            env["NODE_PATH"] = str(self.tools / "node_modules")
        # what is not trusted may not read the task: its canaries and held-out guards would tell how they are to be met
        hidden = () if trusted else (self.task.folder,)
        open_to_all = (self.tools, self.task.folder / "harness", self.spec.tree)
        inside = [path for path in open_to_all if path is not None and path.is_dir()]
        return self.executor.run(
            Command(
                argv=filled(argv, places),
                cwd=tree,
                limits=Limits(step.seconds, OUTPUT_BYTES, None, FILE_BYTES, PROCESSES),
                env={**env, "HEADWAY_SEED": seed, **(extra or {})},
                writable=writable,
                hidden=hidden,
                readable_inside=tuple(inside),
            )
        )

    def _without_editable(self, folder: str, names: list[str]) -> set[str]:
        place = Path(folder)
        relative = {name: (place / name).relative_to(self.spec.tree).as_posix() for name in names}
        return {
            n
            for n, path in relative.items()
            if n == "__pycache__" or ((place / n).is_file() and self.spec.may_edit(path))
        }


@contextmanager
def _scratch(prefix: str) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
    try:
        yield folder
    finally:
        remove_tree(folder)


def _without_links(folder: Path) -> None:
    """What was left may name files outside, which the reader must not follow."""
    for entry in folder.rglob("*"):
        if entry.is_symlink() or not (entry.is_file() or entry.is_dir()):
            entry.unlink(missing_ok=True)
