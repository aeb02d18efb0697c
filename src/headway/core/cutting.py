"""Cutting long output in the middle so that a secret is not cut in two and then no longer recognised. Pure.

Whoever keeps only head and tail of something cuts with `cut` (or `joined`, when it never held the whole). Words that
the cut would go through are dropped whole, and the mark tells the masker where a piece of a secret may remain.
"""

import re

CUT_MARK = re.compile(rb"(\n\[headway cut \d+ bytes here\]\n)")
LONGEST_WORD = 4096
"""No token is longer: of a longer run without white space, this much goes on each side of the cut."""

WHITE = (b" ", b"\n", b"\t", b"\r")


def cut(content: bytes, limit: int) -> bytes:
    """`content`, or about `limit` bytes of it: two thirds head, one third tail, and a mark that says what went."""
    if len(content) <= limit:
        return content
    head = limit * 2 // 3
    tail = limit - head
    return joined(content[:head], content[len(content) - tail :], len(content) - head - tail)


def joined(head: bytes, tail: bytes, omitted: int) -> bytes:
    """Head and tail of an output of which `omitted` bytes between them were not kept (0: nothing was cut)."""
    if omitted == 0:
        return head + tail
    kept_head = head[: len(head) - _last_word(head[-LONGEST_WORD:])]
    kept_tail = tail[_first_word(tail[:LONGEST_WORD]) :]
    gone = omitted + len(head) - len(kept_head) + len(tail) - len(kept_tail)
    return kept_head + b"\n[headway cut %d bytes here]\n" % gone + kept_tail


def _last_word(window: bytes) -> int:
    return len(window) - 1 - max(window.rfind(white) for white in WHITE)


def _first_word(window: bytes) -> int:
    return min((at for white in WHITE if (at := window.find(white)) >= 0), default=len(window))
