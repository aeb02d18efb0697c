"""Facts about the machine that could change a suite's result: what a cached result is valid for."""

import platform
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from headway.core.config import L1Config
from headway.validate.known import SuiteKey, environment_digest, suite_digest
from headway.validate.suite_run import suite_environment

_ALWAYS_ASKED = ("sh", "python3", "python", "pytest", "cc", "c++", "clang", "cmake", "ninja", "make")


def suite_key(l1: L1Config, environ: Mapping[str, str]) -> SuiteKey:
    """The key under which results of this suite on this machine may be reused."""
    return SuiteKey(suite_digest(l1), environment_digest(environment_facts(l1, environ)))


def environment_facts(l1: L1Config, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Variables, platform, and for every program a step may call: where it is, its size and time."""
    env = suite_environment(l1, environ)
    yield from (("env " + name, value) for name, value in env.items())
    yield "platform", f"{platform.platform()} {platform.machine()}"
    for program in sorted({*_ALWAYS_ASKED, *_first_words(l1)}):
        found = shutil.which(program, path=env.get("PATH", ""))
        if found:
            yield f"program {program}", _identity(Path(found))
            yield from _packages_of(Path(found), program)


def _first_words(l1: L1Config) -> Iterator[str]:
    for step in (l1.setup, l1.build, l1.test):
        try:
            words = shlex.split(step.run) if step else []
        except ValueError:
            words = []
        yield from (word for word in words if "=" not in word and not word.startswith("-"))


def _identity(path: Path) -> str:
    about = path.resolve().stat()
    return f"{path.resolve()} {about.st_size} {about.st_mtime_ns}"


def _packages_of(found: Path, program: str) -> Iterator[tuple[str, str]]:
    """Installing a package changes its folder's time; enough to notice an upgrade without asking pip."""
    if program.startswith(("python", "pytest")):
        for packages in sorted((found.parent.parent / "lib").glob("python3*/site-packages")):
            yield f"packages of {program}", _identity(packages)
