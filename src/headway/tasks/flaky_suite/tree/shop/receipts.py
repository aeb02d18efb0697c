"""Receipts are appended to a file, one line each."""

from pathlib import Path


def append(path, line):
    with Path(path).open("a") as file:
        file.write(line + "\n")


def count(path):
    path = Path(path)
    return len(path.read_text().splitlines()) if path.exists() else 0
