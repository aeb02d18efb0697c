"""Has this been tried? Digests that ignore comments and layout, and the likeness of hypotheses. Pure."""

import ast
import hashlib
import re
from collections.abc import Iterable

from headway.core.file_bundle import bundle, files_in
from headway.core.names import Digest
from headway.core.task import Kind

NEARLY = 0.8
"""Share of words (Jaccard) from which on two hypotheses count as nearly the same."""

_C_TOKENS = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<space>\s+)""", re.S
)


def digest_of(text: str) -> Digest:
    """sha256 of the text as UTF-8."""
    return Digest(hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


def normal_digest(kind: Kind, source: str) -> Digest:
    """Equal for sources that differ only in comments and layout; one that does not parse is its own normal form."""
    if kind == "command":
        files = files_in(source)
        return digest_of(bundle({p: _normal_python(t) if p.endswith(".py") else t for p, t in files.items()}))
    return digest_of(_normal_c(source) if kind == "cpu-c" else _normal_python(source))


def _normal_c(source: str) -> str:
    # newlines stay: preprocessor lines end with them
    def kept(found: re.Match[str]) -> str:
        if found["string"]:
            return found["string"]
        return "\n" if "\n" in found[0] and found["space"] else " "

    lines = (line.strip() for line in _C_TOKENS.sub(kept, source).splitlines())
    return "\n".join(line for line in lines if line)


def _normal_python(source: str) -> str:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) and _has_docstring(
            node
        ):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def _has_docstring(node: ast.Module | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef) -> bool:
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str())), *_]:
            return True
    return False


def same_words(text: str) -> str:
    """The form in which two hypotheses are the same strategy: lower case, single spaces."""
    return " ".join(text.lower().split())


def likeness(one: str, other: str) -> float:
    """Share of words that two texts have in common, 0 to 1. Numbers count as words: `tile 32` is not `tile 64`."""
    a, b = words(one), words(other)
    return len(a & b) / len(a | b) if a or b else 1.0


def words(text: str) -> frozenset[str]:
    """The words of a text, lower case, numbers and `name=value` included."""
    return frozenset(re.findall(r"[\w=.+-]+", text.lower()))


def nearest(text: str, others: Iterable[tuple[int, frozenset[str]]]) -> int | None:
    """The newest id whose words are nearly those of `text`."""
    mine = words(text)
    close = [
        number for number, theirs in others if (mine or theirs) and len(mine & theirs) >= NEARLY * len(mine | theirs)
    ]
    return max(close) if close else None
