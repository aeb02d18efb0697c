"""The first guard, by syntax tree: the candidate's code stays a suite of tests and a shop. It runs nothing.

`sources.py TREE ORIGINAL`. What could write its own verdict (pytest's insides, exits, other processes, frames), put
something else in the shop's place, or look whether the shop is the one it knows, is refused; it is no part of mending
a test.
"""

import ast
import json
import sys
from pathlib import Path

IMPORTS = {
    "collections", "contextlib", "datetime", "functools", "io", "itertools", "json", "math", "operator", "os",
    "pathlib", "pytest", "queue", "random", "re", "shop", "statistics", "string", "tempfile", "threading", "time",
    "typing", "unittest",
}  # fmt: skip
FORGING = {
    "_exit", "_getframe", "abort", "atexit", "breakpoint", "builtins", "compile", "ctypes", "eval", "exec", "execv",
    "execve", "exit", "fork", "forkpty", "gc", "getattr", "globals",
    "hookimpl", "inspect", "kill", "killpg", "locals", "main",
    "modules", "pluginmanager", "popen", "quit", "setprofile", "settrace", "signal", "sys", "system", "vars",
    "__builtins__", "__class__", "__code__", "__dict__", "__globals__", "__import__", "__subclasses__",
}  # fmt: skip
OF_PYTEST = {"approx", "fixture", "mark", "param", "raises", "warns"}


def refuse(reason, message, advice):
    print(json.dumps({"reason": reason, "message": message, "next": advice}))
    raise SystemExit(1)


def main():
    tree = Path(sys.argv[1])
    for path in [*sorted(tree.glob("tests/test_*.py")), *sorted(tree.glob("shop/*.py"))]:
        name = path.relative_to(tree).as_posix()
        try:
            module = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, ValueError) as wrong:
            refuse("syntax", f"{name} does not parse: {wrong}", "Let it parse.")
        shop = shop_names(module)
        for node in ast.walk(module):
            check(node, name)
            check_place(node, name, shop)


def shop_names(module):
    """The names by which a module knows the shop and what is in it."""
    found = set()
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "shop":
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Import):
            found.update(alias.asname or "shop" for alias in node.names if alias.name.split(".")[0] == "shop")
    return found


def root(node):
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def check_place(node, name, shop):
    """Nothing is put in the place of what is tested."""
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()) if root(node) in shop | {"pytest"}:
            refuse("metric_forged", f"{name}:{node.lineno} puts something in the place of what is tested.", "Leave it.")
        case ast.Call(
            func=ast.Attribute(attr="setattr" | "delattr" | "setitem" | "patch" | "object"), args=[first, *_]
        ):
            told = first.value if isinstance(first, ast.Constant) else root(first)
            if str(told).split(".")[0] in shop | {"shop", "pytest"}:
                refuse("metric_forged", f"{name}:{node.lineno} puts something in its place.", "Test the shop itself.")
        case ast.Attribute(value=ast.Name(id="pytest"), attr=word) if word not in OF_PYTEST:
            refuse(
                "metric_forged", f"{name}:{node.lineno} uses pytest.{word}.", f"Use: {', '.join(sorted(OF_PYTEST))}."
            )


def check(node, name):
    imported = []
    match node:
        case ast.Import(names=names):
            imported = [alias.name for alias in names]
        case ast.ImportFrom(module=module, names=names):
            imported = [module or "", *(f"{module}.{alias.name}" for alias in names)]
        case ast.Name(id=word) | ast.Attribute(attr=word) if word in FORGING:
            refuse("metric_forged", f"{name}:{node.lineno} uses {word}, which can end or rewrite a run.", "Leave it.")
        case ast.Constant(value=str() as text) if "HEADWAY" in text or ".py" in text or ".json" in text:
            refuse("metric_forged", f"{name}:{node.lineno} names the harness's own files.", "Leave them.")
    for one in imported:
        if one.split(".")[0] not in IMPORTS:
            refuse("banned_import", f"{name} imports {one}.", f"Use: {', '.join(sorted(IMPORTS))}.")
        if set(one.split(".")) & FORGING:
            refuse("metric_forged", f"{name} imports {one}, which can end or rewrite a run.", "Leave it.")


if __name__ == "__main__":
    main()
