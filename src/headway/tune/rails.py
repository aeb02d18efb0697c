"""Rails of a `command` task that run nothing: its Python tests are kept, and nothing is slept or retried through.

Pure, over the editable files before and after, by syntax tree. They look at what was *added*: a suite that sleeps
already may go on sleeping. Files in other languages have the task's own guards.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from headway.core.command_task import CommandTask
from headway.core.gates import PASSED, Passed, Refused
from headway.core.reasons import Reason

SKIPS = frozenset({"skip", "skipif", "xfail", "importorskip", "skipTest", "skipIf", "skipUnless", "expectedFailure"})
RETRIES = frozenset({"flaky", "retry", "retries", "rerun", "reruns", "retrying", "tenacity", "backoff", "stamina"})
SLEEPS = frozenset({"sleep"})
RAISES = frozenset({"raises", "assertRaises", "assertRaisesRegex", "warns"})
CAUGHT = frozenset({"AssertionError", "Exception", "BaseException"})
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Checks:
    """What one test checks. `exact` are comparisons by `==`, `rows` the literal rows of its parametrisation."""

    asserts: int
    exact: int
    rows: int
    slack: float
    """The largest tolerance any `approx` in it is given."""


def admitted(spec: CommandTask, before: Mapping[str, str], after: Mapping[str, str]) -> Passed | Refused:
    """The first rail that refuses, else passed."""
    trees: dict[str, ast.Module] = {}
    for path, text in after.items():
        if path.endswith(".py"):
            try:
                trees[path] = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError) as wrong:
                return Refused(Reason.SYNTAX, f"{path} does not parse: {wrong}.", "Parse it before you propose it.")
    old = {path: _parsed(text) for path, text in before.items() if path.endswith(".py")}
    tests = ({p: t for p, t in side.items() if spec.is_test(p)} for side in (old, trees))
    for verdict in (tests_kept(*tests), nothing_slept_through(old, trees)):
        if isinstance(verdict, Refused):
            return verdict
    return PASSED


def tests_kept(before: Mapping[str, ast.Module], after: Mapping[str, ast.Module]) -> Passed | Refused:
    """Every test is still there under its name, runs, and checks at least as much."""
    old, new = (_tests(side) for side in (before, after))
    gone = sorted(set(old) - set(new))
    if gone:
        return Refused(Reason.TEST_DELETED, f"The test {gone[0]} is gone.", "Keep it, under its name.")
    was, now = (sum(_words(side)[word] for word in SKIPS) for side in (before, after))
    switched = next((path for path, tree in after.items() if _switched_off(tree)), None)
    if now > was or switched:
        return Refused(Reason.TEST_SKIPPED, "A test is skipped, or expected to fail, that was not.", "Let it run.")
    for name, checks in old.items():
        weaker = _weaker(checks, new[name])
        if weaker:
            return Refused(Reason.TEST_WEAKENED, f"{name}: {weaker}.", "Check what was checked before.")
    return PASSED


def nothing_slept_through(before: Mapping[str, ast.Module], after: Mapping[str, ast.Module]) -> Passed | Refused:
    """No more sleeps, retrying libraries or marks, and loops that try again than before."""
    old, new = _words(before), _words(after)
    for what, words in (("sleep", SLEEPS), ("retry", RETRIES)):
        if sum(new[word] for word in words) > sum(old[word] for word in words):
            return Refused(Reason.RETRY_ADDED, f"A {what} was added.", "Mend the cause.")
    if _loops_that_retry(after) > _loops_that_retry(before):
        return Refused(Reason.RETRY_ADDED, "A loop was added that tries again after an error.", "Mend the cause.")
    return PASSED


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])


def _tests(side: Mapping[str, ast.Module]) -> dict[str, Checks]:
    """Collected tests by class and name. A later definition of the same name in a file hides an earlier one."""
    found: dict[str, Checks] = {}
    for tree in side.values():
        for owner, function in _functions(tree):
            if function.name.startswith("test"):
                found[f"{owner}{function.name}"] = _checks(function)
    return found


def _functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    for node in tree.body:
        if isinstance(node, Function):
            yield "", node
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from ((f"{node.name}.", one) for one in node.body if isinstance(one, Function))


def _checks(function: Function) -> Checks:
    asserts = exact = 0
    for node in _sure(function.body):
        match node:
            case ast.Assert(test=test) if not _says_nothing(test):
                asserts += 1
                exact += _is_exact(test)
            case ast.Call() if _called(node) in RAISES or _called(node).startswith("assert"):
                asserts += 1
                exact += _called(node) == "assertEqual"
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    slack = max((_slack(node) for node in calls if _called(node) == "approx"), default=0.0)
    rows = sum(len(_rows(node)) for node in calls if _called(node) == "parametrize")
    return Checks(asserts, exact, rows, slack)


def _weaker(old: Checks, new: Checks) -> str:
    if new.asserts < old.asserts:
        return f"{new.asserts} checks that surely run, and it had {old.asserts}"
    if new.exact < old.exact:
        return f"{new.exact} comparisons by ==, and it had {old.exact}"
    if new.rows < old.rows:
        return f"{new.rows} rows of parameters, and it had {old.rows}"
    return f"a tolerance of {new.slack:g}, and it had {old.slack:g}" if new.slack > old.slack else ""


def _sure(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Nodes that run whenever the body does: not behind an `if`, in a `try` that swallows them, or after a `return`."""
    for statement in body:
        match statement:
            case ast.Return() | ast.Raise():
                return
            case ast.If() | ast.While() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.Try(body=inner, handlers=handlers) if any(_swallows(handler) for handler in handlers):
                continue
            case ast.Try(body=inner):
                yield from _sure(inner)
            case ast.For(body=inner) | ast.AsyncFor(body=inner):
                yield from _sure(inner)
            case ast.With(items=items, body=inner) | ast.AsyncWith(items=items, body=inner):
                names = {_called(item.context_expr) for item in items if isinstance(item.context_expr, ast.Call)}
                yield from (node for item in items for node in ast.walk(item.context_expr))
                if "suppress" not in names:
                    yield from _sure(inner)
            case _:
                yield from ast.walk(statement)


def _swallows(handler: ast.ExceptHandler) -> bool:
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} if handler.type else set(CAUGHT)
    return bool(names & CAUGHT)


def _says_nothing(test: ast.expr) -> bool:
    """True of every program: a constant, a tuple, something compared with itself, or `… or True`."""
    match test:
        case ast.Constant() | ast.Tuple() | ast.List() | ast.Dict() | ast.Lambda():
            return True
        case ast.Compare(left=left, comparators=[right]):
            return ast.dump(left) == ast.dump(right)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_says_nothing(value) for value in values)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_says_nothing(value) for value in values)
    return False


def _is_exact(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and any(isinstance(op, ast.Eq | ast.Is) for op in test.ops)


def _called(node: ast.AST) -> str:
    """The last name of what is called."""
    if not isinstance(node, ast.Call):
        return ""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _slack(call: ast.Call) -> float:
    given = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
    numbers = [node.value for one in given for node in ast.walk(one) if isinstance(node, ast.Constant)]
    return max((abs(float(n)) for n in numbers if isinstance(n, int | float)), default=0.0)


def _rows(call: ast.Call) -> list[ast.expr]:
    if len(call.args) > 1 and isinstance(call.args[1], ast.List | ast.Tuple):
        return call.args[1].elts
    return []


def _switched_off(tree: ast.Module) -> bool:
    """`__test__ = False`, or a hook that chooses what is collected."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id="__test__" | "collect_ignore" | "collect_ignore_glob", ctx=ast.Store()):
                return True
            case ast.Attribute(attr="__test__", ctx=ast.Store()):
                return True
            case ast.FunctionDef(name=name) if name.startswith("pytest_"):
                return True
    return False


def _words(side: Mapping[str, ast.Module]) -> Counter[str]:
    """How often each name is used, as a name, an attribute, a keyword, an import or a decorator's part."""
    found: Counter[str] = Counter()
    for tree in side.values():
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                    found[name] += 1
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    found.update(part for alias in names for part in alias.name.split("."))
                    found.update((node.module or "").split(".") if isinstance(node, ast.ImportFrom) else ())
    return found


def _loops_that_retry(side: Mapping[str, ast.Module]) -> int:
    loops = (node for tree in side.values() for node in ast.walk(tree) if isinstance(node, ast.For | ast.While))
    return sum(any(isinstance(inner, ast.Try) and inner.handlers for inner in ast.walk(loop)) for loop in loops)
