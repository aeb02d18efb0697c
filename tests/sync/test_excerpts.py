"""Conflicted files as an agent reads them: what is left out comes back, whatever the file's end and line ends are."""

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.sync.conflict import ConflictedFile, Hunk, assemble, lines_of
from headway.sync.excerpts import excerpt, whole, with_markers

LINES = st.integers(0, 260).map(lambda n: tuple(f"line {k}\n" for k in range(n)))


def file_of(before: tuple[str, ...], after: tuple[str, ...], hunk: Hunk) -> ConflictedFile:
    return ConflictedFile("a.py", "content", "", "", "", (before, hunk, after))


@settings(max_examples=60, deadline=None)
@given(before=LINES, after=LINES, end=st.sampled_from(["ours", "ours\n", "ours\r\n"]))
def test_an_excerpt_with_its_hunk_answered_becomes_the_whole_file_again(
    before: tuple[str, ...], after: tuple[str, ...], end: str
) -> None:
    hunk = Hunk(0, (end,), ("base\n",), ("theirs\n",))
    file = file_of(before, after, hunk)
    shown = excerpt(file)
    begin, stop = shown.index("<<<<<<< fork\n"), shown.index(">>>>>>> upstream after\n")
    answered = shown[:begin] + "both\n" + shown[stop + len(">>>>>>> upstream after\n") :]
    assert whole(file, answered) == assemble(file.segments, {0: ("both\n",)})
    assert len(lines_of(shown)) <= 60 * 4 + 42 * 2 + 10


def test_a_mark_that_is_lost_or_doubled_is_left_for_the_rails_to_refuse() -> None:
    before = tuple(f"line {n}\n" for n in range(300))
    file = file_of(before, (), Hunk(0, ("ours\n",), ("base\n",), ("theirs\n",)))
    [mark] = [line for line in lines_of(excerpt(file)) if line.startswith("[headway:")]
    for text in ("both\n", mark + mark + "both\n"):
        assert whole(file, text) == text
    assert "<<<<<<< fork\nours\n||||||| upstream before\nbase\n=======\ntheirs\n>>>>>>> upstream after\n" in (
        with_markers(file)
    )
