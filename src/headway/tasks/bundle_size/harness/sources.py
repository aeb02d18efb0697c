"""The first guard, over the sources alone: all that runs in the page must be in the bundle. It runs nothing.

`sources.py TREE`. Options that leave code out, and code that is fetched or made at run time, are refused.
"""

import json
import re
import sys
from pathlib import Path

OPTIONS = {
    "minify": bool,
    "minifySyntax": bool,
    "minifyWhitespace": bool,
    "minifyIdentifiers": bool,
    "mangleQuoted": bool,
    "treeShaking": bool,
    "keepNames": bool,
    "target": str,
    "format": str,
    "charset": str,
    "legalComments": str,
    "define": dict,
    "drop": list,
    "pure": list,
    "mainFields": list,
    "conditions": list,
}
OUTSIDE = re.compile(
    r"\beval\b|\bFunction\s*\(|\.constructor\b.*\.constructor\b|\bimport\s*\(|\bfetch\b|XMLHttpRequest|WebSocket|EventSource"
    r"|importScripts|\bWorker\b|createObjectURL|DecompressionStream|WebAssembly|\batob\b|[\"'`](https?:|data:|blob:|//)"
    r"|createElement\s*\(\s*[\"'`](script|iframe|link|object|embed)|document\.write|javascript:|localStorage|window\.name"
)


def refuse(reason, message, advice):
    print(json.dumps({"reason": reason, "message": message, "next": advice}))
    raise SystemExit(1)


def main():
    tree = Path(sys.argv[1])
    try:
        options = json.loads((tree / "build.json").read_text("utf-8"))
        kinds = {name: isinstance(value, OPTIONS.get(name, ())) for name, value in options.items()}
    except (OSError, ValueError, AttributeError) as wrong:
        refuse("syntax", f"build.json is no object of options: {wrong}", "Write JSON.")
    for name, right in kinds.items():
        if not right:
            refuse("count_evaded", f"build.json: {name} may not be set so.", f"Options: {', '.join(OPTIONS)}.")
    for path in sorted(tree.glob("src/**/*.js")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            found = OUTSIDE.search(line)
            if found:
                name = path.relative_to(tree).as_posix()
                message = f"{name}:{number}: {found[0]!r} brings in code that is not in the bundle."
                refuse("count_evaded", message, "Let the bundle be all there is.")


if __name__ == "__main__":
    main()
