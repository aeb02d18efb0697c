"""Generated mutants of the fork's own Python: one small change of meaning each, chosen by a seed."""

import ast
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from headway.validate.known_bad import LANGUAGES, product_sources

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutant:
    """`path` with one expression at `line` changed; `what` says how."""

    path: str
    line: int
    what: str
    content: bytes


def sample(tracked: Iterable[str], read: Callable[[str], bytes], count: int, seed: int) -> tuple[Mutant, ...]:
    """At most `count` mutants of the tree's product sources, spread over files; the same seed, the same mutants."""
    dice = random.Random(seed)
    paths = list(product_sources(tracked, LANGUAGES["python"]))
    dice.shuffle(paths)
    pools = [pool for path in paths if (pool := list(mutants_of(path, read(path))))]
    for pool in pools:
        dice.shuffle(pool)
    chosen: list[Mutant] = []
    while pools and len(chosen) < count:
        pools = [pool for pool in pools if pool]
        for pool in pools[: count - len(chosen)]:
            chosen.append(pool.pop())
    return tuple(chosen)


def mutants_of(path: str, source: bytes) -> Iterator[Mutant]:
    """Every mutant of one file; none if it does not parse. Annotations, docstrings and decorators are left alone."""
    try:
        tree = ast.parse(source)
        text = source.decode("utf-8")
    except (SyntaxError, ValueError):
        return
    lines = text.splitlines(keepends=True)
    for node in _code(tree):
        changed = _changed(node)
        if changed is None or not isinstance(node, ast.expr):
            continue
        start, end = _offset(lines, node.lineno, node.col_offset), _offset(lines, node.end_lineno, node.end_col_offset)
        before, after = text[start:end], f"({ast.unparse(changed)})"
        content = text[:start] + after + text[end:]
        yield Mutant(path, node.lineno, f"`{_short(before)}` -> `{_short(after)}`", content.encode())


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """Expressions inside function bodies: what a call of the code under test can reach."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                for inner in ast.walk(statement):
                    if not isinstance(inner, ast.JoinedStr | ast.FormattedValue):
                        yield inner


def _changed(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        return ast.Compare(node.left, [_COMPARISONS[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS and not _is_text(node):
        return ast.BinOp(node.left, _OPERATORS[type(node.op)](), node.right)
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return ast.Constant(not node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return ast.Constant(node.value + 1)
    if isinstance(node, ast.BoolOp):
        return ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    return None


def _is_text(node: ast.BinOp) -> bool:
    def text(side: ast.expr) -> bool:
        return isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))

    return text(node.left) or text(node.right)


def _offset(lines: list[str], line: int | None, byte_column: int | None) -> int:
    """Characters before a position that ast gives as a line and a column in UTF-8 bytes."""
    assert line is not None and byte_column is not None
    before = sum(len(text) for text in lines[: line - 1])
    return before + len(lines[line - 1].encode()[:byte_column].decode())


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else f"{flat[:57]}..."
