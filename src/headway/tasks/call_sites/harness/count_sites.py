"""The metric: how many places of the package still use the naive-UTC API, by syntax tree. It runs nothing.

`count_sites.py TREE ORIGINAL` prints the number. It refuses (exit code 1, one JSON object) what would make the number
small without a migration: another name for the old API, a new function around it, or code that no syntax tree shows.
"""

import ast
import json
import sys
from collections import Counter
from pathlib import Path

OLD = ("utcnow", "utcfromtimestamp")
HIDING = {"exec", "eval", "compile", "__import__", "import_module", "run_path", "globals", "vars", "pickle", "marshal"}
REFLECTING = {"getattr", "attrgetter", "methodcaller", "__getattribute__", "__dict__", "getattr_static"}


def refuse(reason, message, advice):
    print(json.dumps({"reason": reason, "message": message, "next": advice}))
    raise SystemExit(1)


def modules(tree):
    found = {}
    for path in sorted(tree.glob("ledger/**/*.py")):
        name = path.relative_to(tree).as_posix()
        try:
            found[name] = ast.parse(path.read_text("utf-8"))
        except (SyntaxError, ValueError) as wrong:
            refuse("syntax", f"{name} does not parse: {wrong}", "Let it parse.")
    return found


def sites(module):
    """Line numbers of uses of the old API."""
    return [node.lineno for node in ast.walk(module) if isinstance(node, ast.Attribute) and node.attr in OLD]


def functions(module):
    """Qualified name -> node, lambdas by their place in their owner."""
    found = {}

    def walk(node, owner):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{owner}{child.name}"
                found[name] = child
                walk(child, f"{name}.")
            else:
                walk(child, owner)

    walk(module, "")
    return found


def uses_old(node):
    return any(isinstance(inner, ast.Attribute) and inner.attr in OLD for inner in ast.walk(node))


def old_users(parsed):
    """Functions (not classes) that use the old API themselves."""
    return {
        (path, name)
        for path, module in parsed.items()
        for name, node in functions(module).items()
        if not isinstance(node, ast.ClassDef) and uses_old(node)
    }


def names_used(parsed):
    found = Counter()
    for module in parsed.values():
        for node in ast.walk(module):
            if isinstance(node, ast.Name):
                found[node.id] += 1
            elif isinstance(node, ast.Attribute):
                found[node.attr] += 1
            elif isinstance(node, ast.ImportFrom):
                found.update(alias.name for alias in node.names)
    return found


def naive_again(parsed):
    """How often a moment's zone is taken from it."""
    keywords = (n for module in parsed.values() for n in ast.walk(module) if isinstance(n, ast.keyword))
    return sum(k.arg == "tzinfo" and isinstance(k.value, ast.Constant) and k.value.value is None for k in keywords)


def check(parsed, original):
    words, before = names_used(parsed), names_used(original)
    for word in sorted(HIDING):
        if words[word] > before[word]:
            refuse("count_evaded", f"{word} runs code that the count cannot see.", "Write the code out.")
    for word in sorted(REFLECTING):
        if words[word] > before[word]:
            refuse("aliased", f"{word} can reach the old API by another name.", "Replace the call itself.")
    for path, module in parsed.items():
        called = {id(node.func) for node in ast.walk(module) if isinstance(node, ast.Call)}
        for node in ast.walk(module):
            if isinstance(node, ast.Attribute) and node.attr in OLD and id(node) not in called:
                refuse("aliased", f"{path}:{node.lineno} gives the old API another name.", "Replace each call.")
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and any(o in node.value for o in OLD):
                refuse("aliased", f"{path}:{node.lineno} names the old API in a string.", "Replace the call itself.")
            if isinstance(node, ast.Lambda) and uses_old(node):
                refuse("aliased", f"{path}:{node.lineno} wraps the old API.", "Replace each call.")
    if naive_again(parsed) > naive_again(original):
        refuse("aliased", "tzinfo=None makes a moment naive again.", "Let moments be aware.")
    for path, name in sorted(old_users(parsed) - old_users(original)):
        refuse("aliased", f"{name} in {path} is a new function around the old API.", "Replace the call itself.")
    for path, name in sorted(old_users(parsed)):
        short = name.rpartition(".")[2]
        if not short.startswith("__") and words[short] > before[short]:
            refuse("aliased", f"{name} in {path} stands for the old API in more places.", "Replace the call itself.")
    lost = {(p, n) for p, m in original.items() for n in functions(m)}
    lost -= {(p, n) for p, m in parsed.items() for n in functions(m)}
    public = sorted((p, n) for p, n in lost if not n.rpartition(".")[2].startswith("_"))
    if public:
        refuse("count_evaded", f"{public[0][1]} is gone from {public[0][0]}.", "Migrate it; do not remove it.")


def main():
    tree, original = (modules(Path(folder)) for folder in sys.argv[1:3])
    check(tree, original)
    found = {path: sites(module) for path, module in tree.items()}
    for path, lines in found.items():
        for line in lines:
            print(f"{path}:{line}", file=sys.stderr)
    print(sum(map(len, found.values())))


if __name__ == "__main__":
    main()
