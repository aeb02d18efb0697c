"""Known-bad changes: sources broken so that no honest suite that builds or imports them can stay green.

One per language of the tree. A suite that stays green was not testing the tree it was given.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from headway.core.errors import HeadwayError

MESSAGE = "headway: this is a known-bad change; a suite that stays green does not test this tree"


@dataclass(frozen=True, slots=True)
class Language:
    """Which files are its sources, and how one is broken at its top."""

    name: str
    suffixes: tuple[str, ...]
    broken: Callable[[bytes], bytes]


def _python(source: bytes) -> bytes:
    # first, so that nothing before it can return; a `from __future__` after it is a SyntaxError, which is as red
    return f"raise RuntimeError({MESSAGE!r})\n".encode() + source


def _c(source: bytes) -> bytes:
    return f"#error {MESSAGE}\n".encode() + source


def _any(source: bytes) -> bytes:
    return f"((( {MESSAGE}\n".encode() + source


LANGUAGES: dict[str, Language] = {
    "python": Language("python", (".py",), _python),
    "c": Language("c", (".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".cu", ".cuh"), _c),
    "tablegen": Language("tablegen", (".td",), _any),
    "rust": Language("rust", (".rs",), _any),
    "go": Language("go", (".go",), _any),
    "javascript": Language("javascript", (".js", ".mjs", ".ts"), _any),
    "shell": Language("shell", (".sh",), lambda source: b"exit 97\n" + source),
}
"""Tried by the number of their sources, ties in this order."""

SCRIPTS = frozenset({"python", "shell", "javascript"})
"""Languages whose files can be the suite's own runner, called by name."""

_NOT_THE_PRODUCT = re.compile(
    r"(^|/)(tests?|testing|docs?|examples?|benchmarks?|scripts?|tools|tutorials|third_party|vendor|\.[^/]+)/"
    r"|(^|/)(test_[^/]*|[^/]*_test|conftest|setup|noxfile|tasks|fabfile|__main__|_version)\.[a-z]+$"
)


def product_sources(tracked: Iterable[str], language: Language) -> tuple[str, ...]:
    """Sources of the product itself: no tests, docs, examples or build scripts."""
    return tuple(
        path
        for path in tracked
        if PurePosixPath(path).suffix in language.suffixes and not _NOT_THE_PRODUCT.search(path)
    )


def targets(tracked: Iterable[str], language: Language, commands: str = "") -> tuple[str, ...]:
    """What to break: of Python the `__init__` of the largest package, or its loose modules; elsewhere every source.

    Not every package: breaking a helper of the tests would turn a suite red that never looks at the product. For the
    same reason a script that `commands` call (the suite's own runner) is left alone.
    """
    sources = product_sources(tracked, language)
    if language.name in SCRIPTS:
        called = {PurePosixPath(word).name for word in re.split(r"[\s'\";&|()]+", commands)}
        sources = tuple(path for path in sources if PurePosixPath(path).name not in called)
    if language.name != "python":
        return sources
    packages = {str(PurePosixPath(path).parent) for path in sources if PurePosixPath(path).name == "__init__.py"}
    roots = {package for package in packages if str(PurePosixPath(package).parent) not in packages}
    if not roots:
        return sources
    size = {root: sum(path.startswith(f"{root}/") for path in sources) for root in roots}
    largest = min(roots, key=lambda root: (-size[root], root))
    return (f"{largest}/__init__.py",)


def mutants(
    tracked: tuple[str, ...], chosen: tuple[str, ...], read: Callable[[str], bytes], commands: str = ""
) -> Mapping[str, Mapping[str, bytes]]:
    """Language name -> {path: broken contents}, most sources first. `chosen` replaces headway's choice.

    `read` gives a tracked file's contents. Languages without a target are left out.
    Raises HeadwayError for a chosen path that the commit does not track.
    """
    if chosen:
        for path in chosen:
            if path not in tracked:
                raise HeadwayError(
                    f"`l1.canary_paths` names {path}, which is no regular file of the commit.",
                    "Name a tracked source file.",
                )
        return {"chosen": {path: _language_of(path).broken(read(path)) for path in chosen}}
    made: dict[str, Mapping[str, bytes]] = {}
    by_size = sorted(LANGUAGES.values(), key=lambda language: -len(product_sources(tracked, language)))
    for language in by_size:
        found = targets(tracked, language, commands)
        if found:
            made[language.name] = {path: language.broken(read(path)) for path in found}
    return made


def _language_of(path: str) -> Language:
    suffix = PurePosixPath(path).suffix
    for language in LANGUAGES.values():
        if suffix in language.suffixes:
            return language
    return Language("other", (suffix,), _any)
