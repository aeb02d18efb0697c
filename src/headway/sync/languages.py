"""What kind of file a path is: its language, and whether it is a test, a definition file, a pin or a build file."""

import re
from pathlib import PurePosixPath
from typing import Literal

Language = Literal["python", "c", "cpp", "tablegen", "mlir", "other"]

SUFFIXES: dict[str, Language] = {
    ".py": "python",
    ".pyi": "python",
    ".c": "c",
    ".h": "cpp",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".cu": "cpp",
    ".cuh": "cpp",
    ".inc": "cpp",
    ".td": "tablegen",
    ".mlir": "mlir",
}
PROSE_SUFFIXES = frozenset({".md", ".rst", ".txt", ".html"})
TEST_PATH = re.compile(r"(^|/)(tests?|unittests?)/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.(py|cc|cpp)$|\.test$")
PIN_PATH = re.compile(
    r"(^|/)(llvm-hash\.txt|[\w.-]*-(version|hash)\.(txt|json)|json-version\.txt|nvidia-toolchain-version\.\w+)$"
)
BUILD_PATH = re.compile(
    r"(^|/)(CMakeLists\.txt|[^/]*\.cmake|setup\.(py|cfg)|pyproject\.toml|Makefile|BUCK|TARGETS|BUILD(\.bazel)?|[^/]*\.bzl)$"
    r"|^\.github/|^\.ci/"
)


def language_of(path: str) -> Language:
    return SUFFIXES.get(PurePosixPath(path).suffix.lower(), "other")


def is_prose(path: str) -> bool:
    """Documentation: order of paragraphs means something that no line merge can know."""
    name = PurePosixPath(path)
    return name.suffix.lower() in PROSE_SUFFIXES and name.name != "CMakeLists.txt"


def is_test(path: str) -> bool:
    return TEST_PATH.search(path) is not None


def is_pin(path: str) -> bool:
    """A toolchain pin (LLVM and its kin): changes of it are a lane of their own."""
    return PIN_PATH.search(path) is not None


def is_build(path: str) -> bool:
    return BUILD_PATH.search(path) is not None
