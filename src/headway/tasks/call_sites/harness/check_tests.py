"""The guard: every test ran and passed, and no old call happened at a place that the count does not see.

`check_tests.py TREE ORIGINAL`; reads what `run_tests.py` left. It runs nothing of the candidate.
"""

import ast
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from count_sites import modules, refuse, sites


def expected(original):
    found = []
    for path in sorted(original.glob("tests/test_*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef):
                names = [one.name for one in node.body if isinstance(one, ast.FunctionDef)]
                found += [f"tests.{path.stem}.{node.name}.{name}" for name in names if name.startswith("test")]
    return sorted(found)


def main():
    tree, original = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        told = json.loads((Path(os.environ["HEADWAY_OUT"]) / "tests.json").read_text("utf-8"))
    except (OSError, ValueError):
        refuse("metric_forged", "The tests left no report of their own.", "Let the run end by itself.")
    wanted = expected(original)
    if told["ids"] != wanted or told["ran"] != len(wanted) or told["skipped"]:
        refuse("census_shrank", f"{told['ran']} of {len(wanted)} tests ran.", "Let every test run.")
    if told["bad"]:
        name, words = told["bad"][0]
        last = words.strip().splitlines()[-1]
        refuse("guard_failed", f"{name} fails: {last}", "Keep what the package does.")
    counted = {f"{path}:{line}" for path, module in modules(tree).items() for line in sites(module)}
    hidden = sorted(set(told["calls"]) - counted)
    if hidden:
        refuse("aliased", f"The old API is called from {hidden[0]}, which the count does not see.", "Migrate it.")


if __name__ == "__main__":
    main()
