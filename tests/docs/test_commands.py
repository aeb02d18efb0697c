"""Every command in the README and docs is run as written, in the order of its page, on the demo's repositories.

A ```console block holds lines that start with `$ `. A block that cannot run here (a GPU, an hour, a public repository)
is preceded by `<!-- not run: why -->`; the reason is required. Each page starts in a fresh fork of the demo.
"""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.demo.repositories import build_pair

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?:<!-- not run: (?P<why>[^>]*?) -->\s*\n)?```console\n(?P<body>.*?)```", re.DOTALL)


@dataclass(frozen=True)
class Documented:
    page: str
    line: str
    why_not: str


def commands(page: Path) -> list[Documented]:
    found = []
    for block in BLOCK.finditer(page.read_text()):
        for line in block["body"].splitlines():
            if line.startswith("$ "):
                found.append(Documented(page.name, line[2:].split("  #")[0].strip(), block["why"] or ""))
    return found


def environment(tmp_path: Path) -> dict[str, str]:
    """`headway` and `python` are the ones under test; HOME is empty, as on a new machine."""
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    for name, module in (("headway", "-m headway "), ("python", "")):
        script = bin_dir / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module}"$@"\n')
        script.chmod(0o755)
    return {**os.environ, "PATH": f"{bin_dir}:{os.environ['PATH']}", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}


@pytest.mark.parametrize("page", [p for p in PAGES if any(not c.why_not for c in commands(p))], ids=lambda p: p.name)
def test_the_commands_of_a_page_work_in_order(page: Path, tmp_path: Path) -> None:
    env = environment(tmp_path)
    pair = build_pair(tmp_path / "pair")
    ran = 0
    for command in commands(page):
        if command.why_not:
            continue
        done = subprocess.run(
            command.line, shell=True, cwd=pair.fork, env=env, capture_output=True, text=True, timeout=110
        )
        assert done.returncode == 0, (
            f"{page.name}: `{command.line}` ended with {done.returncode}: {done.stderr[-2000:]}"
        )
        ran += 1
    assert ran


def test_make_targets_in_the_docs_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {word for page in PAGES for word in re.findall(r"`make ([a-z]+)", page.read_text())}
    assert named <= targets, named - targets
