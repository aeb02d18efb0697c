"""Output of unknown size in memory of known size: the head and the tail are kept, the middle is counted."""

from collections import deque

from headway.core.cutting import joined


class OutputCut:
    """Feed it bytes; `text()` is at most `limit` bytes plus one line that says how much is missing."""

    def __init__(self, limit: int) -> None:
        self._head_room = limit // 2
        self._tail_room = limit - limit // 2
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._total = 0

    def feed(self, chunk: bytes) -> None:
        self._total += len(chunk)
        room = self._head_room - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if not chunk:
            return
        self._tail.append(chunk)
        self._tail_size += len(chunk)
        while self._tail_size - len(self._tail[0]) >= self._tail_room:
            self._tail_size -= len(self._tail.popleft())

    @property
    def truncated(self) -> bool:
        return self._total > self._head_room + self._tail_room

    def text(self) -> bytes:
        tail = b"".join(self._tail)
        if not self.truncated:
            return bytes(self._head) + tail
        tail = tail[-self._tail_room :] if self._tail_room else b""
        missing = self._total - len(self._head) - len(tail)
        return joined(bytes(self._head), tail, missing)
