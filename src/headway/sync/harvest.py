"""Recorded resolutions out of the fork's own earlier history: what somebody made of a conflict that a pick had.

Only picks that touch the file at hand are looked into, newest first, and each at most once in a process.
"""

import functools
import re
from collections.abc import Callable, Mapping, Sequence

from headway.core.errors import HeadwayError
from headway.core.names import Sha
from headway.core.ports.git import Commit, Conflicted, History, TrialMerges
from headway.sync.conflict import ConflictedFile, Hunk, lines_of
from headway.sync.history import Range, reverts_in
from headway.sync.judgement import conflicted_files
from headway.sync.resolvers.ladder import Lines, Recorded
from headway.sync.resolvers.recorded import learn

MOST_PICKS = 40
"""Earlier picks of one file that are looked into: older conflicts hardly come again."""
NAMED = re.compile(r"\b[0-9a-f]{40}\b")

Pick = tuple[Sha, Sha]
"""(the fork's commit, the upstream change it took)"""


class Harvest:
    """A book of resolutions, filled as files are asked for."""

    def __init__(self, merges: TrialMerges, history: History) -> None:
        self._merges = merges
        self._history = history
        self._learnt: dict[Pick, tuple[Recorded, ...]] = {}
        self._paths: dict[Sha, frozenset[str]] = {}

    def recorded(self, picks: Sequence[Pick], paths: frozenset[str]) -> Callable[[str], Sequence[Recorded]]:
        """A look-up by conflict key over `picks` (newest first) that touch one of `paths`; read when first asked."""
        book: dict[str, list[Recorded]] = {}
        filled: list[bool] = []

        def look(key: str) -> Sequence[Recorded]:
            if not filled:
                filled.append(True)
                for pick in self._touching(picks, paths):
                    for one in self._of(pick):
                        book.setdefault(one.key, []).append(one)
            return book.get(key, ())

        return look

    def examples(self, picks: Sequence[Pick], paths: frozenset[str]) -> tuple[Recorded, ...]:
        """What was made of earlier conflicts in picks that touch one of `paths`, newest first."""
        return tuple(one for pick in self._touching(picks, paths) for one in self._of(pick))

    def _touching(self, picks: Sequence[Pick], paths: frozenset[str]) -> list[Pick]:
        unread = [change for _, change in picks if change not in self._paths]
        if unread:
            for change, effect in self._history.effects(unread).items():
                self._paths[change] = frozenset(one.path for one in effect)
        return [pick for pick in picks if self._paths[pick[1]] & paths][:MOST_PICKS]

    def _of(self, pick: Pick) -> tuple[Recorded, ...]:
        if pick not in self._learnt:
            self._learnt[pick] = tuple(self._learn(*pick))
        return self._learnt[pick]

    def _learn(self, commit: Sha, change: Sha) -> list[Recorded]:
        trial = self._merges.pick(change, f"{commit}^1")
        found: list[Recorded] = []
        if not isinstance(trial, Conflicted):
            return found
        for file in conflicted_files(trial, self._merges):
            try:
                landed = self._merges.blob(f"{commit}:{file.path}").decode("utf-8", "surrogateescape")
            except HeadwayError:  # the resolution moved or removed the file: nothing to learn for its hunks
                continue
            answers = answers_in(file, landed)
            for hunk in file.hunks:
                if hunk.index in answers and (one := learn(hunk, answers[hunk.index], commit)) is not None:
                    found.append(one)
        return found


class Past:
    """The picks that the fork's line up to `tip` names, found when first asked for."""

    def __init__(self, merges: TrialMerges, history: History, line: Range, tip: Sha) -> None:
        self._harvest = Harvest(merges, history)
        self._history = history
        self._line = line
        self._tip = tip

    @functools.cached_property
    def picks(self) -> tuple[Pick, ...]:
        """Newest first."""
        fork = self._history.commits([self._tip, f"^{self._line.base}"], first_parent=True)
        return picks_named(fork, frozenset(self._line.shas))

    def recorded(self, paths: frozenset[str]) -> Callable[[str], Sequence[Recorded]]:
        """A look-up by conflict key over the picks that touch one of `paths`."""
        return lambda key: self._harvest.recorded(self.picks, paths)(key)

    def examples(self, paths: frozenset[str]) -> tuple[Recorded, ...]:
        """Earlier resolutions in these files, newest first."""
        return self._harvest.examples(self.picks, paths)


def answers_in(file: ConflictedFile, landed: str) -> Mapping[int, Lines]:
    """What stands in `landed` where each hunk was; hunks whose surroundings were changed by hand are left out.

    The merged lines before and after a hunk (up to three) must be found, in order, exactly once from where we are.
    """
    lines = lines_of(landed)
    answers: dict[int, Lines] = {}
    at = 0
    for place, segment in enumerate(file.segments):
        if not isinstance(segment, Hunk):
            continue
        before, after = file.segments[place - 1], file.segments[place + 1]
        assert not isinstance(before, Hunk) and not isinstance(after, Hunk)
        start = _find(lines, before[-3:], at) if before else at
        if start is None:
            continue
        start += len(before[-3:])
        end = _find(lines, after[:3], start) if after else len(lines)
        if end is None:
            continue
        answers[segment.index] = lines[start:end]
        at = end
    return answers


def _find(lines: Lines, wanted: Lines, start: int) -> int | None:
    size = len(wanted)
    return next((at for at in range(start, len(lines) - size + 1) if lines[at : at + size] == wanted), None)


def picks_named(fork: Sequence[Commit], upstream: frozenset[Sha]) -> tuple[Pick, ...]:
    """Picks that the fork's messages name by a full commit id, newest first; `fork` is ancestors first.

    A commit that names several changes is a bundle, and its tree says nothing about one of them.
    """
    picks = []
    for commit in reversed(fork):
        named = {Sha(name) for name in NAMED.findall(commit.text)} & upstream
        if len(named) == 1 and commit.parents and reverts_in(commit) is None:
            picks.append((commit.sha, named.pop()))
    return tuple(picks)
