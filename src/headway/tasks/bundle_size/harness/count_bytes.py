"""The metric: the bytes of everything that a browser is given. It runs nothing."""

import os
import sys
from pathlib import Path

dist = Path(os.environ["HEADWAY_OUT"]) / "dist"
sizes = {path.relative_to(dist).as_posix(): path.stat().st_size for path in sorted(dist.rglob("*")) if path.is_file()}
for name, size in sizes.items():
    print(f"{name}: {size}", file=sys.stderr)
print(sum(sizes.values()))
