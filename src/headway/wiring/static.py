"""Builds static comparisons: kernel lists and toolchains as people name them, clones for revisions, the executor."""

import difflib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import headway
from headway.adapters.clones import GitClones
from headway.adapters.git_repository import known_commit, open_fork
from headway.adapters.kernel_list import KernelTables, read_kernel_list
from headway.adapters.local_executor import LocalExecutor
from headway.core.errors import HeadwayError
from headway.core.ports.workspace import CloneRequest
from headway.validate.static.compare import DEFAULTS, METRICS, Comparison, Threshold, compare, compare_each
from headway.validate.static.listing import Kernel, Side, Toolchain, side_from_json, with_archs
from headway.validate.static.run import Keep, compile_side

PROGRAM = Path(headway.__file__).parent / "worker" / "compiling"
HERE = "here"
"""The toolchain where none is named: the Python that runs headway."""


@dataclass(frozen=True)
class StaticAsked:
    """What a person asked for. `toolchains` are `NAME=PYTHON`; `base` and `against` choose what is compared."""

    kernels: Path
    toolchains: tuple[str, ...] = ()
    archs: tuple[int, ...] = ()
    only: str = "*"
    base: str = ""
    revision: str = ""
    base_revision: str = ""
    against: Path | None = None
    listings: Path | None = None
    jobs: int = 1
    inside: bool = False
    """Already in a sandbox (a suite's test step), in which no second one can be built."""


@dataclass(frozen=True)
class StaticAnswer:
    """The sides in order, and what was held against what."""

    sides: tuple[Side, ...]
    comparisons: tuple[Comparison, ...]


def run_static(asked: StaticAsked, say: Callable[[str], None]) -> StaticAnswer:
    """Compile and compare. Raises HeadwayError for what cannot be meant; what cannot be run is in the answer."""
    if asked.revision or asked.base_revision:
        return _revisions(asked, say)
    tables = read_kernel_list(asked.kernels)
    thresholds = _thresholds(tables)
    root = asked.kernels.resolve().parent
    sides = tuple(
        _side(one.name, one, root, tables, asked, say) for one in _toolchains(asked, tables, asked.kernels.parent)
    )
    if asked.against is not None:
        return StaticAnswer(sides, _against(asked.against, sides, thresholds))
    if asked.base and asked.base not in [side.label for side in sides]:
        raise HeadwayError(
            f"There is no toolchain {asked.base!r} to compare with.",
            f"Name one of {', '.join(side.label for side in sides)}.",
        )
    return StaticAnswer(sides, compare_each(sides, asked.base, thresholds))


def _revisions(asked: StaticAsked, say: Callable[[str], None]) -> StaticAnswer:
    """The lists and kernels of two revisions, each in a clone, by the same toolchains."""
    repository = open_fork(asked.kernels.parent)
    whole, top = asked.kernels.resolve(), repository.top.resolve()
    if not whole.is_relative_to(top):
        raise HeadwayError(f"The list {asked.kernels} lies outside {top}.", "Name a list of the repository.")
    path = whole.relative_to(top)
    revisions = [asked.revision or "HEAD", *([asked.base_revision] if asked.base_revision else [])]
    commits = [known_commit(repository, name) for name in revisions]
    with ExitStack() as stack:
        pool = stack.enter_context(tempfile.TemporaryDirectory(prefix="headway-static-clones-"))
        clones = GitClones(Path(pool))
        roots = [stack.enter_context(clones.checkout(CloneRequest(repository.top, one))).path for one in commits]
        tables = read_kernel_list(roots[0] / path)
        thresholds = _thresholds(tables)
        sides: list[Side] = []
        comparisons: list[Comparison] = []
        for toolchain in _toolchains(asked, tables, asked.kernels.parent):
            made = [
                _side(f"{toolchain.name} at {commit[:12]}", toolchain, (root / path).parent, listed, asked, say)
                for commit, root in zip(commits, roots, strict=True)
                if (listed := tables if root == roots[0] else _older(root / path))
            ]
            sides += made[::-1]
            if len(commits) == 2:
                before = made[1] if len(made) == 2 else Side(f"{toolchain.name} at {commits[1][:12]}", {}, "", ())
                comparisons.append(compare(before, made[0], thresholds))
        return StaticAnswer(tuple(sides), tuple(comparisons))


def _older(path: Path) -> KernelTables | None:
    """The base's list; None where it had none yet, and every kernel is new."""
    return read_kernel_list(path) if path.is_file() else None


def _side(
    label: str, toolchain: Toolchain, root: Path, tables: KernelTables, asked: StaticAsked, say: Callable[[str], None]
) -> Side:
    listed = [one for one in with_archs((Kernel(**raw) for raw in tables.kernels), asked.archs or tables.archs)]
    kernels = [one for one in listed if fnmatchcase(one.name, asked.only)]
    if not kernels:
        raise HeadwayError(f"No kernel of the list is called like {asked.only!r}.", "Leave --only out to see them all.")
    say(f"{label}: {sum(len(one.archs) for one in kernels)} compilations …")
    executor = LocalExecutor(layers=frozenset()) if asked.inside else LocalExecutor()
    return compile_side(
        label, toolchain, root, kernels, PROGRAM, executor, path=tables.path, seconds=tables.seconds, jobs=asked.jobs,
        env=os.environ, keep=_keeper(asked.listings, label),
    )  # fmt: skip


def _toolchains(asked: StaticAsked, tables: KernelTables, folder: Path) -> tuple[Toolchain, ...]:
    """Those that were named, else the list's, else this Python. A path in the list is relative to it."""
    if asked.toolchains:
        return tuple(_named(text) for text in asked.toolchains)
    if not tables.toolchains:
        return (Toolchain(HERE, sys.executable),)
    return tuple(
        Toolchain(name, python if "/" not in python else str((folder / python).absolute()))
        for name, python in tables.toolchains.items()
    )


def _named(text: str) -> Toolchain:
    name, equals, python = text.partition("=")
    if not (name and equals and python):
        raise HeadwayError(f"{text!r} names no toolchain.", "Give NAME=PYTHON, as in 3.6=/opt/triton-3.6/bin/python.")
    return Toolchain(name, str(Path(python).absolute()) if "/" in python else python)


def _thresholds(tables: KernelTables) -> Mapping[str, Threshold]:
    if unknown := sorted(set(tables.thresholds) - METRICS):
        near = difflib.get_close_matches(unknown[0], sorted(METRICS), n=1, cutoff=0.0)[0]
        raise HeadwayError(f"The list has a threshold for {unknown[0]!r}, which is not counted.", f"Is it {near!r}?")
    return {**DEFAULTS, **{name: Threshold(**raw) for name, raw in tables.thresholds.items()}}


def _against(path: Path, sides: Sequence[Side], thresholds: Mapping[str, Threshold]) -> tuple[Comparison, ...]:
    """Each side against the saved one with its label, or against the only saved one."""
    try:
        saved = {side.label: side for side in map(side_from_json, json.loads(path.read_text())["sides"])}
    except (OSError, ValueError, KeyError, TypeError) as trouble:
        raise HeadwayError(
            f"The report {path} cannot be read ({type(trouble).__name__}: {trouble}).", "Make it with --save."
        ) from trouble
    only = next(iter(saved.values())) if len(saved) == 1 else None
    pairs = [(saved.get(side.label, only), side) for side in sides]
    if lost := next((side.label for old, side in pairs if old is None), ""):
        raise HeadwayError(f"{path} has no side {lost!r}.", f"It has {', '.join(saved)}.")
    return tuple(compare(old, side, thresholds) for old, side in pairs if old is not None)


def _keeper(folder: Path | None, label: str) -> Keep:
    if folder is None:
        return lambda name, text: None
    place = folder / label.replace("/", "_").replace(" ", "_")
    with writing(place):
        place.mkdir(parents=True, exist_ok=True)

    def keep(name: str, text: str) -> None:
        with writing(place / name):
            (place / name).write_text(text)

    return keep


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns what the file system says about a file that is being written into one sentence."""
    try:
        yield
    except OSError as trouble:
        raise HeadwayError(f"{path} cannot be written: {trouble.strerror}.", "Name another place.") from trouble
