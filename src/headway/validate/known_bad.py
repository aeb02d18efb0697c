"""Known-bad changes: sources broken so that no honest suite that builds or imports them can stay green.

One per language of the tree. A suite that stays green was not testing the tree it was given.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

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
"""Tried in this order."""

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


def targets(tracked: Iterable[str], language: Language) -> tuple[str, ...]:
    """What to break: for Python each package's `__init__` and modules outside packages, elsewhere every source."""
    sources = product_sources(tracked, language)
    if language.name != "python":
        return sources
    packages = {str(PurePosixPath(path).parent) for path in sources if PurePosixPath(path).name == "__init__.py"}
    roots = {package for package in packages if str(PurePosixPath(package).parent) not in packages}

    def inside_package(path: str) -> bool:
        return any(str(parent) in packages for parent in PurePosixPath(path).parents)

    return tuple(
        path
        for path in sources
        if (PurePosixPath(path).name == "__init__.py" and str(PurePosixPath(path).parent) in roots)
        or not inside_package(path)
    )


def mutants(
    tracked: tuple[str, ...], chosen: tuple[str, ...], read: Callable[[str], bytes]
) -> Mapping[str, Mapping[str, bytes]]:
    """Language name -> {path: broken contents}. `chosen` (from headway.toml) replaces headway's own choice.

    `read` gives a tracked file's contents. Languages without a target are left out.
    """
    if chosen:
        return {"chosen": {path: _language_of(path).broken(read(path)) for path in chosen}}
    made: dict[str, Mapping[str, bytes]] = {}
    for name, language in LANGUAGES.items():
        found = targets(tracked, language)
        if found:
            made[name] = {path: language.broken(read(path)) for path in found}
    return made


def _language_of(path: str) -> Language:
    suffix = PurePosixPath(path).suffix
    for language in LANGUAGES.values():
        if suffix in language.suffixes:
            return language
    return Language("other", (suffix,), _any)
