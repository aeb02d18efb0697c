"""A clean stop: the first SIGTERM or ^C asks the loop to end after its step, the second one ends it at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType


class StopSignal:
    """`asked()` is true once somebody wants the loop to end; `wait` sleeps until then, at most."""

    def __init__(self) -> None:
        self._asked = Event()
        self.interrupted = False
        """Whether it was ^C."""

    def asked(self) -> bool:
        """Whether a stop is wanted."""
        return self._asked.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep; True as soon as a stop is asked for."""
        return self._asked.wait(seconds)

    @contextmanager
    def listening(self) -> Iterator["StopSignal"]:
        """Take SIGINT and SIGTERM for as long as the loop runs, and put back who had them."""
        before = {number: signal.signal(number, self._heard) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _heard(self, number: int, _: FrameType | None) -> None:
        if self.asked():
            raise KeyboardInterrupt
        self.interrupted = number == signal.SIGINT
        self._asked.set()
