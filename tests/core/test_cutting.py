"""Cutting long output: near the limit, at white space, and saying what is gone."""

import re

import pytest

from headway.core.cutting import CUT_MARK, cut, joined


def test_what_fits_is_not_cut() -> None:
    assert cut(b"abc", 3) == b"abc" and joined(b"ab", b"c", 0) == b"abc"


@pytest.mark.parametrize("limit", [10, 100, 5_000])
def test_the_mark_counts_what_is_gone(limit: int) -> None:
    content = b"some words of output\n" * 1_000
    kept = cut(content, limit)
    head, mark, tail = CUT_MARK.split(kept)
    (gone,) = re.findall(rb"\d+", mark)
    assert len(head) + int(gone) + len(tail) == len(content)
    assert content.startswith(head) and content.endswith(tail)
    assert head[-1:] in b"\n " and tail[:1] in b"\n " and len(head) + len(tail) <= limit
    assert len(head) + len(tail) > limit - 30


def test_a_long_run_without_white_space_is_dropped_beside_the_cut() -> None:
    assert CUT_MARK.split(cut(b"x" * 100_000, 20_000))[0] == b"x" * (20_000 * 2 // 3 - 4096)
