"""Work spread over processes of our own, each with its own resources. Trusted code only: no limits, no sandbox."""

import multiprocessing
import queue
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar

from headway.core.errors import CouldNotRun, HeadwayError

T = TypeVar("T")
R = TypeVar("R")
Make = Callable[[], AbstractContextManager[Callable[[T], R]]]
"""Called once in each process: opens what the work needs and gives the function. Must be picklable."""


class Workers(Generic[T, R]):
    """`jobs` processes that answer items in any order. Use as a context manager; leaving it ends them."""

    def __init__(self, make: Make[T, R], jobs: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._asked: Any = context.SimpleQueue()
        self._answers: Any = context.Queue()
        self._processes = [
            context.Process(target=_work, args=(make, self._asked, self._answers), daemon=True) for _ in range(jobs)
        ]
        for process in self._processes:
            process.start()

    def answers(self, items: Iterable[T]) -> Iterator[R]:
        """One answer per item, as they come. Re-raises a worker's HeadwayError; CouldNotRun if a worker died."""
        waiting, source = 0, iter(items)
        for item in source:
            self._asked.put(item)
            waiting += 1
            if waiting >= 2 * len(self._processes):
                break
        while waiting:
            yield self._next()
            waiting -= 1
            for item in source:
                self._asked.put(item)
                waiting += 1
                break

    def answer(self, item: T) -> R:
        """One answer to one item."""
        return next(self.answers([item]))

    def begin(self, item: T) -> Callable[[], R]:
        """Put one item to work at once; the function given back waits for its answer. For one item at a time."""
        self._asked.put(item)
        return self._next

    def _next(self) -> R:
        while True:
            try:
                worked, value = self._answers.get(timeout=1.0)
            except queue.Empty:
                if any(process.exitcode is not None for process in self._processes):
                    raise CouldNotRun("A worker process died without an answer.", "Run the command again.") from None
                continue
            if worked:
                result: R = value
                return result
            if isinstance(value, HeadwayError):
                raise value
            raise RuntimeError(value)

    def __enter__(self) -> "Workers[T, R]":
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, tb: TracebackType | None) -> None:
        if kind is not None:  # nobody will ask for what they are at
            for process in self._processes:
                process.kill()
        for _ in self._processes:
            self._asked.put(None)
        for process in self._processes:
            process.join(timeout=5.0)
            if process.is_alive():
                process.kill()


def _work(make: Make[T, R], asked: Any, answers: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # ^C is for the process that asks: it ends this one
    with make() as function:
        while (item := asked.get()) is not None:
            try:
                answers.put((True, function(item)))
            except HeadwayError as refusal:
                answers.put((False, HeadwayError(refusal.message, refusal.fix)))
            except Exception:
                answers.put((False, traceback.format_exc()))
