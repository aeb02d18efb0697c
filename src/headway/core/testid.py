"""Test identities, the same whichever harness reports them: `path/to/test_x.py::Class::test_name[params]`, or
`suite :: path` for lit becomes `path`, or a bare name where a harness knows no files."""

import functools
import posixpath
from collections.abc import Collection

from headway.core.names import TestId


def from_node(node: str) -> TestId:
    """pytest's own node id; its file part is made plain (`./a//b.py` is `a/b.py`)."""
    file, separator, rest = node.partition("::")
    return TestId(f"{_plain(file)}{separator}{rest}")


def from_junit(classname: str, name: str, file: str, tracked: Collection[str]) -> TestId:
    """A JUnit test case. `file` wins when given; else the dotted class name is matched against tracked files.

    `pkg.tests.test_x.TestA` + `test_y[1]` is `pkg/tests/test_x.py::TestA::test_y[1]` if that file is tracked.
    """
    if file:
        module = file.removesuffix(".py").replace("/", ".").replace("\\", ".")
        inner = classname[len(module) :].strip(".") if classname.startswith(module) else ""
        return _joined(posixpath.normpath(file.replace("\\", "/")), inner, name)
    parts = [part for part in classname.split(".") if part]
    for cut in range(len(parts), 0, -1):
        candidate = "/".join(parts[:cut]) + ".py"
        if candidate in tracked:
            return _joined(candidate, ".".join(parts[cut:]), name)
    if not parts:
        # pytest reports a module that does not import as a case without class whose name is the dotted module
        dotted = name.replace(".", "/") + ".py"
        return TestId(dotted if dotted in tracked else name)
    return TestId(f"{classname}::{name}")


def from_lit(name: str, tracked: Collection[str] = ()) -> TestId:
    """lit's `suite :: path/to/test.mlir`: the tracked file it is, if one only ends so; else the path as lit has it."""
    path = posixpath.normpath(name.rpartition(" :: ")[2].strip())
    files = [file for file in tracked if file == path or file.endswith(f"/{path}")]
    return TestId(files[0] if len(files) == 1 else path)


def file_of(test: TestId) -> str:
    """The file part, or "" where the identity has none."""
    file, separator, _ = test.partition("::")
    return file if separator or "/" in file or "." in file else ""


@functools.lru_cache(maxsize=4096)
def _plain(file: str) -> str:
    """A file has many tests; its path is made plain once."""
    return posixpath.normpath(file.replace("\\", "/"))


def _joined(file: str, inner: str, name: str) -> TestId:
    classes = "".join(f"{part}::" for part in inner.split(".") if part)
    return TestId(f"{file}::{classes}{name}")
