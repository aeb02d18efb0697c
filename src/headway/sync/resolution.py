"""The ladder: asks each resolver in turn for each hunk, keeps who answered, and never guesses for the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from headway.sync.conflict import ConflictedFile, assemble, decoded, encoded
from headway.sync.resolvers import RESOLVERS
from headway.sync.resolvers.ladder import Answer, Resolver, Surroundings

MOST_HUNKS = 5
"""Hunks of one change past which the ladder does not try: 19 of 20 right per hunk is 3 of 4 right for six of them."""


@dataclass(frozen=True, slots=True)
class ResolvedHunk:
    """Provenance of one hunk: where, by which engine (None: nobody was sure), and why."""

    path: str
    index: int
    engine: str | None
    why: str


@dataclass(frozen=True, slots=True)
class FileResolution:
    """`text` is None exactly when some hunk has no answer."""

    path: str
    text: str | None
    hunks: tuple[ResolvedHunk, ...]


class Structural(Protocol):
    """A merge of whole files by syntax, where one is installed. Adapter: `adapters/mergiraf.py`."""

    name: str

    def merge(self, path: str, base: bytes, ours: bytes, theirs: bytes) -> tuple[bytes | None, str]:
        """(the merged file, "") or (None, why not). Never raises for what the program does."""
        ...


def resolve_file(
    file: ConflictedFile,
    look: Surroundings,
    resolvers: Mapping[str, Resolver] = RESOLVERS,
    structural: Structural | None = None,
) -> FileResolution:
    """Climb the ladder for every hunk of one file. Pure but for what `look` reads and a structural merge."""
    if file.kind != "content" or not file.hunks:
        why = f"a {file.kind.replace('_', ' ')} conflict has no hunks to resolve"
        return FileResolution(file.path, None, (ResolvedHunk(file.path, 0, None, why),))
    answers: dict[int, Answer] = {}
    hunks: list[ResolvedHunk] = []
    for hunk in file.hunks:
        answer = next((found for ask in resolvers.values() if (found := ask(hunk, file, look)) is not None), None)
        if answer is None:
            hunks.append(ResolvedHunk(file.path, hunk.index, None, "no resolver is sure"))
        else:
            answers[hunk.index] = answer
            hunks.append(ResolvedHunk(file.path, hunk.index, answer.engine, answer.why))
    if len(answers) < len(file.hunks):
        return _by_structure(file, tuple(hunks), structural)
    text = assemble(file.segments, {index: answer.lines for index, answer in answers.items()})
    return FileResolution(file.path, text, tuple(hunks))


def _by_structure(
    file: ConflictedFile, hunks: tuple[ResolvedHunk, ...], structural: Structural | None
) -> FileResolution:
    """The whole file merged by syntax, where some hunk has no answer of its own."""
    if structural is None or file.base is None or file.ours is None or file.theirs is None:
        return FileResolution(file.path, None, hunks)
    merged, why = structural.merge(file.path, encoded(file.base), encoded(file.ours), encoded(file.theirs))
    if merged is None or (text := decoded(merged)) is None:
        told = tuple(
            hunk if hunk.engine else replace(hunk, why=f"{hunk.why}; {structural.name}: {why}") for hunk in hunks
        )
        return FileResolution(file.path, None, told)
    said = "a merge by syntax leaves no conflict"
    return FileResolution(
        file.path, text, tuple(ResolvedHunk(file.path, hunk.index, structural.name, said) for hunk in hunks)
    )


def _all_recorded(files: Sequence[ConflictedFile], look: Surroundings, resolvers: Mapping[str, Resolver]) -> bool:
    """The very conflict was resolved before, all of it: then its size says nothing."""
    ask = resolvers.get("recorded")
    return ask is not None and all(ask(hunk, file, look) is not None for file in files for hunk in file.hunks)


def resolve_files(
    files: Sequence[ConflictedFile],
    look: Surroundings,
    resolvers: Mapping[str, Resolver] = RESOLVERS,
    structural: Structural | None = None,
) -> tuple[FileResolution, ...]:
    """Every conflicted file; stops asking at the first one that nobody can resolve, as the pick is then deferred."""
    resolved: list[FileResolution] = []
    count = sum(len(file.hunks) for file in files)
    if count > MOST_HUNKS and not _all_recorded(files, look, resolvers):
        why = f"{count} conflict hunks are more than the ladder trusts itself with (at most {MOST_HUNKS})"
        return tuple(FileResolution(file.path, None, (ResolvedHunk(file.path, 0, None, why),)) for file in files)
    for file in sorted(files, key=lambda one: sum(len(hunk.ours) for hunk in one.hunks)):
        resolved.append(resolve_file(file, look, resolvers, structural))
        if resolved[-1].text is None:
            break
    return tuple(resolved)
