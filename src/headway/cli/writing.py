"""Files that a person named for a result: written, or one sentence that says why not."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.core.errors import HeadwayError


def write_to(path: Path, text: str, option: str) -> None:
    """The whole file. Raises HeadwayError naming it and the option that named it."""
    with _explained(path, option):
        path.write_text(text, encoding="utf-8")


def append_to(path: Path, text: str, option: str) -> None:
    """Add text to a file, as CI services want their summaries. Raises HeadwayError likewise."""
    with _explained(path, option), path.open("a", encoding="utf-8") as file:
        file.write(text)


@contextmanager
def _explained(path: Path, option: str) -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        raise HeadwayError(f"{path} cannot be written: {fault.strerror}.", f"Name a file for {option}.") from fault
