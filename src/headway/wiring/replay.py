"""Builds `headway sync replay`: blind engines in processes of their own, and one process that may see what landed."""

import functools
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from headway.adapters.git_command import Git
from headway.adapters.git_history import GitHistory
from headway.adapters.git_objects import ObjectMissing, ObjectReader
from headway.adapters.git_trees import GitTrees
from headway.adapters.git_trial import GitTrialMerges, Quarantine
from headway.adapters.mergiraf import Mergiraf
from headway.adapters.process_pool import Workers
from headway.core.errors import HeadwayError
from headway.core.names import Sha
from headway.sync.harvest import Harvest, picks_named
from headway.sync.judgement import Bench, judge
from headway.sync.replay import Answer, Case, Landed, Row, Summary, missing_bases, read_cases, read_rows, row_of
from headway.sync.resolvers.ladder import Recorded
from headway.sync.surroundings import nothing_recorded, surroundings


@dataclass(frozen=True)
class Order:
    """What `headway sync replay` was asked for."""

    repository: Path
    cases: Path
    out: Path
    jobs: int
    objects: Path | None = None


def replay(order: Order, progress: Callable[[int, int], None]) -> Summary:
    """Replay every case that `out` does not hold yet, appending one row each. Raises HeadwayError for bad input."""
    cases = _read(order)
    rows, kept = read_rows(order.out.read_text() if order.out.exists() else "")
    order.out.write_text(kept)
    summary = Summary()
    wanted = {case.key for case in cases}
    for key, row in rows.items():
        if key in wanted:
            summary.add(row)
    todo = [case for case in cases if case.key not in rows]
    engines = functools.partial(engine, order.repository, order.objects)
    comparison = functools.partial(comparer, order.repository)
    with (
        Workers[Case, Answer](engines, min(order.jobs, max(len(todo), 1))) as blind,
        Workers[Answer, Row](comparison, 1) as seeing,
        order.out.open("a") as out,
    ):
        for done, answer in enumerate(blind.answers(todo), start=1):
            row = seeing.answer(answer)
            out.write(row.to_json() + "\n")
            out.flush()
            summary.add(row)
            progress(done, len(todo))
    return summary


def _read(order: Order) -> tuple[Case, ...]:
    if not order.cases.is_file():
        raise HeadwayError(f"There is no cases file {order.cases}.")
    git = Git(order.repository)
    if not order.repository.is_dir() or git.run("rev-parse", "--git-dir", ok=None).code != 0:
        raise HeadwayError(f"{order.repository} is not a git repository.")
    cases = read_cases(order.cases.read_text())
    wanted = missing_bases(cases)
    asked = "".join(f"{case.landed}^1\n" for case in wanted).encode()
    found = git.text("cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=asked).split("\n")
    bases: dict[str, Sha] = {}
    for case, line in zip(wanted, found, strict=False):
        name, _, kind = line.partition(" ")
        if kind != "commit":
            raise HeadwayError(
                f"Line {case.line} of the cases: {case.landed} is not in {order.repository}, so what to replay on "
                "is not known.",
                "Name the commit to replay on in a column `base`.",
            )
        bases[case.key] = Sha(name)
    return tuple(replace(case, base=case.base or bases[case.key]) for case in cases)


@contextmanager
def engine(repository: Path, objects: Path | None) -> Iterator[Callable[[Case], Answer]]:
    """Answers cases. Reads nothing but ancestors of a case's base and of its upstream commit."""
    with Quarantine(repository) as quarantine:
        merges, history = GitTrialMerges(quarantine), GitHistory(quarantine.git)
        trees = GitTrees(quarantine.git, lambda: quarantine.reader)
        bench = Bench(merges, history, trees, structural=Mergiraf.installed(os.environ))
        harvest = Harvest(merges, history)

        def answer(case: Case) -> Answer:
            assert case.base is not None
            start = time.perf_counter()
            cut = functools.cache(functools.partial(history.merge_base, case.upstream, case.base))
            look = surroundings(merges, trees, case.upstream, cut, _past(case, history, harvest, cut))
            judged = judge(case.upstream, case.base, bench, look)
            seconds = time.perf_counter() - start
            tree = judged.tree or judged.git_tree
            changed = trees.changes(case.base, tree) if tree is not None else ()
            if objects is not None and judged.tree is not None:
                _keep_objects(quarantine.objects, objects)
            return Answer(case, judged, seconds, {one.path: one.after.oid if one.after else "" for one in changed})

        yield answer


def _past(
    case: Case, history: GitHistory, harvest: Harvest, cut: Callable[[], Sha | None]
) -> Callable[[str], Sequence[Recorded]]:
    """Resolutions that ancestors of the base made of changes that are ancestors of the upstream commit. Read on demand:
    most cases have no conflict."""

    @functools.cache
    def book() -> Callable[[str], Sequence[Recorded]]:
        since = cut()
        if since is None or case.base is None:
            return nothing_recorded
        upstream = history.commits([case.upstream, f"^{since}"], first_parent=True)
        fork = history.commits([case.base, f"^{since}"], first_parent=True)
        effect = history.effects([case.upstream])[case.upstream]
        picks = picks_named(fork, frozenset(commit.sha for commit in upstream))
        return harvest.recorded(picks, frozenset(one.path for one in effect))

    return lambda key: book()(key)


@contextmanager
def comparer(repository: Path) -> Iterator[Callable[[Answer], Row]]:
    """Lays an answer beside what landed: the only process that opens the fork's commit."""
    git = Git(repository)
    trees = GitTrees(git)
    with ObjectReader(git) as reader:

        def compare(answer: Answer) -> Row:
            case = answer.case
            if case.landed is None:
                return row_of(answer, None)
            try:
                tree = reader.tree_of(case.landed)
            except ObjectMissing:
                return row_of(answer, None)
            texts = {}
            for path in answer.judged.resolved or {}:
                try:
                    texts[path] = reader.read(f"{tree}:{path}")[2].decode("utf-8", "surrogateescape")
                except ObjectMissing:
                    continue
            wanted = answer.judged.git == "conflict" and answer.judged.tree is not None
            changed = trees.changes(case.base or "", tree) if wanted else ()
            return row_of(answer, Landed(tree, {c.path: c.after.oid if c.after else "" for c in changed}, texts))

        yield compare


def _keep_objects(source: Path, target: Path) -> None:
    """Copy loose objects that are not there yet; a reader sees each whole or not at all."""
    for folder in source.iterdir():
        if len(folder.name) != 2:
            continue
        for file in folder.iterdir():
            kept = target / folder.name / file.name
            if not kept.exists():
                kept.parent.mkdir(parents=True, exist_ok=True)
                partial = kept.with_name(f"{kept.name}.{os.getpid()}")
                shutil.copyfile(file, partial)
                partial.replace(kept)
