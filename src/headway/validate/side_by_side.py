"""Two things at once: one here, the other in a thread that does not outlive an interrupted program."""

import threading
from collections.abc import Callable
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def side_by_side(here: Callable[[], A], beside: Callable[[], B]) -> tuple[A, B]:
    """Both results. If either raises, that is raised once both have ended; ^C is raised at once.

    The thread is a daemon: a pool would make ^C wait for the other suite's end. What it started dies with us, since
    its supervisor sees our end of the lifeline close.
    """
    got: list[B] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            got.append(beside())
        except BaseException as fault:
            failed.append(fault)

    thread = threading.Thread(target=run, name="beside", daemon=True)
    thread.start()
    first = here()
    thread.join()
    if failed:
        raise failed[0]
    return first, got[0]
