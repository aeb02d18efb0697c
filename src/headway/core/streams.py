"""How pending changes travel: what a plan yields and a run takes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from headway.core.names import Sha

StreamKind = Literal["bundle", "chain", "toolchain"]
KINDS: dict[str, StreamKind] = {"bundle": "bundle", "chain": "chain", "toolchain": "toolchain"}


@dataclass(frozen=True, slots=True)
class Stream:
    """Changes that travel together, oldest first.

    bundle     low risk, none needs a member of a chain: lands whole, or without those that turn it red
    chain      tied by needs or by the source files they edit: one at a time, each waits for the one before it
    toolchain  moves a pin: one at a time, beside all others
    """

    kind: StreamKind
    number: int
    """Counted from 1 among its kind."""
    members: tuple[Sha, ...]

    @property
    def name(self) -> str:
        """`bundle 3`, `chain 1`, `toolchain`: as the plan's rows have it."""
        return self.kind if self.kind == "toolchain" else f"{self.kind} {self.number}"


def streams_in(placed: Iterable[tuple[Sha, str]]) -> tuple[Stream, ...]:
    """The streams of (change, stream's name) pairs in upstream's order; "" travels nowhere. By first member."""
    members: dict[str, list[Sha]] = {}
    for change, name in placed:
        if name:
            members.setdefault(name, []).append(change)
    return tuple(_stream(name, tuple(changes)) for name, changes in members.items())


def _stream(name: str, members: tuple[Sha, ...]) -> Stream:
    word, _, number = name.partition(" ")
    return Stream(KINDS[word], int(number or 1), members)
