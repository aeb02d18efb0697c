"""Which change of a range needs which earlier one, and why. Pure, over patches in upstream's order.

textual    the lines it edits (or the line beside them) were last written by the other one: blame, kept up as we go
structural it mentions a definition or includes a file that the other one brought in
declared   its message names the other one (reverts it, relands it, fixes it, mentions its pull request)

Edges are hints about order, made to be checked by a trial pick: an edge is not proof that the other one is needed.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headway.core.names import Sha
from headway.core.ports.git import Commit
from headway.core.ports.patches import FilePatch, Splice
from headway.sync.history import pull_request_of, revert_candidates
from headway.sync.languages import is_pin, is_prose, language_of
from headway.sync.symbols import outline_of
from headway.sync.textmerge import WORD

EdgeKind = Literal["textual", "structural", "declared"]
SHORTEST_NAME = 6
"""Characters of a name below which its use somewhere says nothing."""
INCLUDE = re.compile(r"[\"</]([\w.-]+\.(?:h|hpp|cuh|inc|td))[\">]")
IMPORTED = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import|import\s+([\w.]+))")
MENTION = re.compile(r"(?<![\w/])#(\d{2,6})\b")
DEFINES: dict[str, re.Pattern[str]] = {
    "python": re.compile(r"^\s*(?:async\s+)?(?:def|class)\s", re.MULTILINE),
    "cpp": re.compile(r"\{"),
    "c": re.compile(r"\{"),
    "tablegen": re.compile(r"^\s*(?:def|class|multiclass|defm)\s", re.MULTILINE),
}
"""What text must hold to define anything: spares the parser most patches."""


@dataclass(frozen=True, slots=True)
class Edge:
    """`change` needs `on`, because of `why` (a file, a name, a phrase). `weight`: lines or mentions behind it."""

    change: Sha
    on: Sha
    kind: EdgeKind
    why: str
    weight: int = 1


@dataclass(frozen=True)
class Dependencies:
    """Edges by the change that needs, and the changes that move a toolchain pin (a lane of their own)."""

    needs: Mapping[Sha, tuple[Edge, ...]]
    toolchain: frozenset[Sha]

    def of(self, change: Sha, among: frozenset[Sha] | None = None) -> tuple[Edge, ...]:
        """What `change` needs, strongest kind first; `among` leaves out what is settled already."""
        found = self.needs.get(change, ())
        return tuple(edge for edge in found if among is None or edge.on in among)


def dependencies(commits: Sequence[Commit], patches: Iterable[tuple[Sha, Sequence[FilePatch]]]) -> Dependencies:
    """All edges of a range, oldest change first; `patches` in the same order."""
    blame, names = Blame(), Names()
    declared = _declared(commits)
    needs: dict[Sha, tuple[Edge, ...]] = {}
    toolchain: set[Sha] = set()
    for change, files in patches:
        edges = [*blame.edges(change, files), *names.edges(change, files), *declared.get(change, ())]
        needs[change] = tuple(_without_repeats(edges))
        blame.apply(change, files)
        names.apply(change, files)
        if any(is_pin(file.path) for file in files):
            toolchain.add(change)
    return Dependencies(needs, frozenset(toolchain))


class Blame:
    """Who of the range last wrote each line, per file; None where it was there before the range."""

    def __init__(self) -> None:
        self._owners: dict[str, list[Sha | None]] = {}

    def edges(self, change: Sha, files: Sequence[FilePatch]) -> list[Edge]:
        """The changes whose lines this one edits or stands beside."""
        found: Counter[tuple[Sha, str]] = Counter()
        for file in files:
            owners = self._owners.get(file.path, [])
            for splice in file.splices:
                first, last = _touched(splice)
                near = owners[max(first - 2, 0) : last + 1]
                found.update((owner, file.path) for owner in near if owner is not None)
        return [Edge(change, on, "textual", path, count) for (on, path), count in found.items() if on != change]

    def apply(self, change: Sha, files: Sequence[FilePatch]) -> None:
        """Splice the change's lines in, from the bottom up so that line numbers stay those of the file before."""
        for file in files:
            if file.deleted:
                self._owners.pop(file.path, None)
                continue
            owners = [] if file.created else self._owners.setdefault(file.path, [])
            self._owners[file.path] = owners
            for splice in reversed(file.splices):
                first, last = _touched(splice)
                if len(owners) < last:
                    owners.extend([None] * (last - len(owners)))
                owners[first - 1 : last] = [change] * len(splice.added)


def _touched(splice: Splice) -> tuple[int, int]:
    """First and last line (1-based, inclusive) of the old lines; an insertion is the empty span after `start`."""
    if not splice.removed:
        return splice.start + 1, splice.start
    return splice.start, splice.start + len(splice.removed) - 1


class Names:
    """Definitions and files that changes of the range brought in, and who mentions them later."""

    def __init__(self) -> None:
        self._by_name: dict[str, Sha] = {}
        self._heard: set[str] = set()
        self._by_file: dict[str, Sha] = {}

    def edges(self, change: Sha, files: Sequence[FilePatch]) -> list[Edge]:
        """Uses, in added lines, of what earlier changes introduced."""
        found: Counter[tuple[Sha, str]] = Counter()
        for file in files:
            if is_prose(file.path):
                continue
            for splice in file.splices:
                for line in splice.added:
                    for name in self._mentioned(line):
                        found[name] += 1
        return [Edge(change, on, "structural", name, count) for (on, name), count in found.items() if on != change]

    def _mentioned(self, line: str) -> list[tuple[Sha, str]]:
        hits = [(self._by_name[word], word) for word in WORD.findall(line) if word in self._by_name]
        if (include := INCLUDE.search(line)) and include.group(1) in self._by_file:
            hits.append((self._by_file[include.group(1)], include.group(1)))
        if found := IMPORTED.match(line):
            module = (found.group(1) or found.group(2)).rsplit(".", 1)[-1] + ".py"
            if module in self._by_file:
                hits.append((self._by_file[module], module))
        return hits

    def apply(self, change: Sha, files: Sequence[FilePatch]) -> None:
        """Remember what this change introduces: defined in its added lines, in none of its removed ones."""
        added: set[str] = set()
        mentioned: set[str] = set()
        for file in files:
            for splice in file.splices:
                mentioned.update(word for line in (*splice.removed, *splice.added) for word in WORD.findall(line))
            added |= _defined(file)
            if file.created:
                self._by_file.setdefault(file.path.rsplit("/", 1)[-1], change)
        for name in added:
            if len(name) >= SHORTEST_NAME and name not in self._heard:  # heard before: older than this change
                self._by_name[name] = change
        self._heard |= mentioned


def _defined(file: FilePatch) -> set[str]:
    """Names that the file's added lines define and its removed ones do not."""
    language = language_of(file.path)
    sign = DEFINES.get(language)
    if sign is None:
        return set()
    added, removed = ("\n".join(line for splice in file.splices for line in side(splice)) for side in (_new, _old))
    if not sign.search(added):
        return set()
    return set(outline_of(added, language).names) - set(WORD.findall(removed))


def _new(splice: Splice) -> tuple[str, ...]:
    return splice.added


def _old(splice: Splice) -> tuple[str, ...]:
    return splice.removed


def _declared(commits: Sequence[Commit]) -> dict[Sha, list[Edge]]:
    """What messages say: reverts, commit ids, pull requests of the range."""
    by_pr = {number: commit.sha for commit in commits if (number := pull_request_of(commit)) is not None}
    order = {commit.sha: at for at, commit in enumerate(commits)}
    edges: dict[Sha, list[Edge]] = defaultdict(list)
    for earlier, later_ones in revert_candidates(commits).items():
        for later in later_ones:
            edges[later].append(Edge(later, earlier, "declared", "reverts it"))
    for commit in commits:
        own = pull_request_of(commit)
        for number in {int(text) for text in MENTION.findall(commit.text)}:
            other = by_pr.get(number)
            if other is not None and number != own and order[other] < order[commit.sha]:
                edges[commit.sha].append(Edge(commit.sha, other, "declared", f"mentions #{number}"))
    return edges


STRENGTH: dict[EdgeKind, int] = {"textual": 0, "structural": 1, "declared": 2}


def _without_repeats(edges: Iterable[Edge]) -> list[Edge]:
    """One edge per needed change and kind (the heaviest), strongest kind first."""
    best: dict[tuple[Sha, EdgeKind], Edge] = {}
    for edge in edges:
        key = (edge.on, edge.kind)
        if key not in best or edge.weight > best[key].weight:
            best[key] = edge
    return sorted(best.values(), key=lambda edge: (STRENGTH[edge.kind], -edge.weight))
