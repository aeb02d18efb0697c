"""The fast line diff: it says what difflib says where lines are unique, and what it says can always be applied."""

import difflib
import itertools
import re
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from headway.sync.linediff import line_edits, unified

FEW = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "}\n"]), max_size=14)
HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")


def applied(before: Sequence[str], after: Sequence[str]) -> list[str]:
    found, at = list[str](), 0
    for edit in line_edits(before, after):
        assert edit.start >= at, "in order, and none over another"
        found += [*before[at : edit.start], *edit.new]
        at = edit.end
    return [*found, *before[at:]]


@given(FEW, FEW)
def test_the_edits_make_the_one_from_the_other(before: list[str], after: list[str]) -> None:
    assert applied(before, after) == after
    assert (line_edits(before, after) == []) == (before == after)


@given(FEW, FEW, st.integers(0, 3))
def test_every_hunk_says_where_it_stands_on_both_sides(before: list[str], after: list[str], around: int) -> None:
    lines = list(unified(before, after, around))
    heads = [number for number, line in enumerate(lines) if line.startswith("@@")]
    for begin, end in itertools.pairwise([*heads, len(lines)]):
        found = HEAD.fullmatch(lines[begin])
        assert found is not None
        old, old_count, new, new_count = (int(part) if part else 1 for part in found.groups())
        body = lines[begin + 1 : end]
        assert [line[1:] for line in body if line[0] in " -"] == before[old - bool(old_count) :][:old_count]
        assert [line[1:] for line in body if line[0] in " +"] == after[new - bool(new_count) :][:new_count]


@given(st.lists(st.integers(0, 60), unique=True), st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)))
def test_unique_lines_come_out_as_difflib_has_them(kept: list[int], gone: set[int], changed: set[int]) -> None:
    before = [f"{n}\n" for n in sorted(kept)]
    after = [f"new {n}\n" if n in changed else f"{n}\n" for n in sorted(kept) if n not in gone]
    theirs = list(difflib.unified_diff(before, after, n=2))[2:]
    assert sorted(unified(before, after, 2)) == sorted(theirs)


def test_a_long_file_with_many_edits_is_a_matter_of_a_moment() -> None:
    """difflib alone needs more than ten seconds for this; the test's own limit is what it is held to."""
    before = [f"line {n}\n" for n in range(20_000)]
    after = [f"ours {n}\n" if n % 40 == 20 else line for n, line in enumerate(before)]
    edits = line_edits(before, after)
    assert len(edits) == 500 and applied(before, after) == after
    assert sum(line.startswith("@@") for line in unified(before, after, 2)) == 500
