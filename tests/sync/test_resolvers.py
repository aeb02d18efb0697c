"""Each rung of the ladder: a conflict it answers, and the nearest one that it must leave alone."""

import pytest

from headway.sync.conflict import ConflictedFile, Hunk, assemble, lines_of, parse_markers
from headway.sync.resolution import MOST_HUNKS, resolve_file, resolve_files
from headway.sync.resolvers.ladder import Surroundings
from headway.sync.resolvers.recorded import conflict_key, learn

BEFORE, AFTER = "before = 1\n", "after = 2\n"


def conflict(base: str, ours: str, theirs: str, path: str = "m.py", before: str = BEFORE) -> ConflictedFile:
    """One hunk between two merged lines; the whole files are what the sides really are."""
    hunk = Hunk(0, lines_of(ours), lines_of(base), lines_of(theirs))
    whole = [before + side + AFTER for side in (base, ours, theirs)]
    return ConflictedFile(path, "content", *whole, (lines_of(before), hunk, lines_of(AFTER)))


def answer(file: ConflictedFile, look: Surroundings | None = None) -> tuple[str | None, str]:
    """(engine, the hunk's lines)"""
    found = resolve_file(file, look or Surroundings())
    text = found.text or ""
    before = file.segments[0]
    assert not isinstance(before, Hunk)
    return found.hunks[0].engine, text[len("".join(before)) : len(text) - len(AFTER)]


def test_markers_are_read_by_their_size_and_files_come_back_byte_for_byte() -> None:
    size = 37
    text = "a\n<<<<<<< not one\n" + "<" * size + " x\no\n" + "|" * size + " y\nb\n=======\n" + "=" * size
    text += "\nt\udce9\n" + ">" * size + " z\nend"
    before, hunk, after = parse_markers(text)
    assert hunk == Hunk(0, ("o\n",), ("b\n", "=======\n"), ("t\udce9\n",))
    assert assemble((before, hunk, after), {0: ("t\udce9\n",)}) == "a\n<<<<<<< not one\nt\udce9\nend"
    with pytest.raises(ValueError):
        parse_markers("<" * size + " x\no\n")


def test_a_fork_that_only_reformatted_takes_upstreams_small_edit_in_its_own_style() -> None:
    file = conflict(
        "call('a', 'b',\n     'c')\n", 'call(\n    "a",\n    "b",\n    "c",\n)\n', "call('a', 'x',\n     'c')\n"
    )
    assert answer(file) == ("only_reformatted", 'call(\n    "a",\n    "x",\n    "c",\n)\n')


def test_a_rewrite_of_reformatted_lines_is_taken_as_upstream_wrote_it() -> None:
    file = conflict("value = f('a')\n", 'value = f("a")\n', "other = [g(x) for x in ('b', 'c')]\nuse(other)\n")
    assert answer(file) == ("only_reformatted", "other = [g(x) for x in ('b', 'c')]\nuse(other)\n")


def test_code_that_the_fork_commented_out_is_not_merely_reformatted() -> None:
    file = conflict(
        "  check(a);\n  check(b);\n", "  // check(a);\n  // check(b);\n", "  verify(a);\n  check(b);\n", "m.cpp"
    )
    assert answer(file)[0] is None


def test_the_same_change_on_both_sides_keeps_the_forks_text() -> None:
    file = conflict("x = 1\n", 'x = load("k", 2)\n', "x = load('k',\n         2)\n")
    assert answer(file) == ("same_effect", 'x = load("k", 2)\n')


def test_lines_that_touch_without_overlapping_are_both_taken() -> None:
    file = conflict("a = one\nb = two\n", "a = uno\nb = two\n", "a = one\nb = zwei\n")
    assert answer(file) == ("adjacent_lines", "a = uno\nb = zwei\n")


def test_an_insertion_beside_a_deletion_survives_it() -> None:
    file = conflict("run(first)\n", "run(first)\nrun(forks)\n", "", before="run(zero)\n")
    assert answer(file) == ("adjacent_lines", "run(forks)\n")


def test_different_words_of_one_line_are_both_taken() -> None:
    file = conflict("f(alpha, beta, gamma)\n", "f(alpha, beta, gamma, mine)\n", "f(first, beta, gamma)\n")
    assert answer(file) == ("separate_tokens", "f(first, beta, gamma, mine)\n")


def test_a_name_that_one_side_took_away_is_not_mixed_with_the_others_new_use_of_it() -> None:
    base = "p = make()\nrun(p)\ncheck(p)\n"
    file = conflict(base, base.replace("p", "plan"), base.replace("run(p)\n", "run(p)\nlog(p)\n"))
    assert answer(file)[0] is None


def test_two_sides_that_bring_in_the_same_name_are_not_merged_word_by_word() -> None:
    file = conflict("f(a, b)\n", "f(a, b, cta)\n", "f(cta, a, b)\n")
    assert answer(file)[0] is None


def test_an_expected_value_that_both_touch_is_left_to_a_test_run() -> None:
    base = "// CHECK: %a\n// CHECK: offset = 16\n"
    file = conflict(base, base.replace("16", "32"), base.replace("%a", "%b"), "t.mlir")
    assert answer(file)[0] is None


def test_a_fork_that_rewrote_the_place_is_no_ground_for_a_word_merge() -> None:
    base = "".join(f"step{i}(a{i}, b{i});\n" for i in range(9))
    ours = "".join(f"step{i}(mine(a{i}), b{i});\n" for i in range(9))
    assert answer(conflict(base, ours, base.replace("b4)", "b4, q)"), "m.cpp"))[0] is None


def test_imports_of_both_sides_are_sorted_into_a_sorted_block() -> None:
    before = '#include "a.h"\n#include "b.h"\n'
    file = conflict("", '#include "m.h"\n', '#include "c.h"\n', "m.cpp", before)
    assert answer(file) == ("both_added_imports", '#include "c.h"\n#include "m.h"\n')


def test_two_unlike_additions_are_the_forks_then_upstreams() -> None:
    file = conflict("", '    "FORK_SWITCH",\n', '    "UPSTREAM_SWITCH",\n', "list.hpp")
    assert answer(file) == ("both_added", '    "FORK_SWITCH",\n    "UPSTREAM_SWITCH",\n')


@pytest.mark.parametrize(
    ("ours", "theirs", "path"),
    [
        ("def f(x):\n    return x + 1\n", "def f(x, y):\n    return y\n", "m.py"),
        ("    alpha(one, two);\n    beta(three);\n", "    alpha(one, two);\n    gamma(four);\n", "m.cpp"),
        ("  if (a) {\n", "  while (b) {\n", "m.cpp"),
        ("One paragraph of text, about this.\n", "Another paragraph of text, about that.\n", "README.md"),
    ],
    ids=["the same name", "a shared line", "a brace that closes elsewhere", "prose"],
)
def test_additions_that_may_be_variants_of_one_another_are_left_alone(ours: str, theirs: str, path: str) -> None:
    assert answer(conflict("", ours, theirs, path))[0] is None


def test_an_addition_that_the_forks_lines_hold_already_is_not_added_again() -> None:
    added = "register_pass('dot', priority=2)\n"
    file = conflict("", added + "register_pass('forks_own', priority=9)\n", added)
    assert answer(file) == ("already_there", "".join(file.hunks[0].ours))


def test_a_version_at_an_older_upstream_state_moves_on_to_upstreams_newest() -> None:
    file = conflict("version = '3.5'\n", "version = '3.4'\n", "version = '3.6'\n")
    seen = Surroundings(upstream_states=lambda _: [BEFORE + "version = '3.4'\n" + AFTER])
    assert answer(file, seen) == ("older_upstream_state", "version = '3.6'\n")
    assert answer(file)[0] is None, "a version that upstream never had is the fork's own choice"


def test_an_edit_of_lines_that_the_fork_lacks_changes_nothing() -> None:
    base = "    producer_wait(buffer, phase)\n    copy_async(buffer, source)\n    arrive(buffer)\n"
    file = conflict(base, "", base.replace("copy_async(buffer, source)", "copy_async(buffer, source, mask)"))
    assert answer(file) == ("absent_in_fork", "")
    brings_more = conflict(base, "", base.replace("    arrive", "    def helper(x): return x\n    arrive"))
    assert answer(brings_more)[0] is None


def test_a_conflict_that_was_resolved_before_is_recognised_whatever_its_formatting() -> None:
    file = conflict("one(a)\ntwo(b)\n", "uno(a)\ndos(b)\n", "eins(a)\nzwei(b)\n")
    past = learn(file.hunks[0], ("uno(a)\n", "zwei(b)\n"), "0123456789abcdef")
    assert past is not None
    again = conflict("one(a)\ntwo( b )\n", "uno(a)\ndos(b)\n", "eins(a)\nzwei(b)\n", "moved.py")
    book = {past.key: [past]}
    assert past.key == conflict_key(again.hunks[0])
    assert answer(again, Surroundings(recorded=lambda key: book.get(key, ()))) == ("recorded", "uno(a)\nzwei(b)\n")
    other = learn(file.hunks[0], ("dos(b)\n",), "fedcba9876543210")
    assert other is not None
    book[past.key].append(other)
    assert answer(again, Surroundings(recorded=lambda key: book.get(key, ())))[0] is None, "two answers are none"


def test_one_hunk_without_an_answer_leaves_the_file_unresolved_and_named() -> None:
    sure, unsure = Hunk(0, ("x = 1\n",), ("x = 0\n",), ("x  =  1\n",)), Hunk(1, ("a\n",), ("b\n",), ("c\n",))
    file = ConflictedFile("m.py", "content", "", "", "", ((), sure, ("-\n",), unsure, ()))
    found = resolve_file(file, Surroundings())
    assert found.text is None
    assert [(hunk.index, hunk.engine) for hunk in found.hunks] == [(0, "same_effect"), (1, None)]


def test_too_many_hunks_are_not_tried() -> None:
    hunks = [Hunk(i, (f"x{i} = 1\n",), (f"x{i} = 0\n",), (f"x{i}  =  1\n",)) for i in range(MOST_HUNKS + 1)]
    segments = [part for hunk in hunks for part in (("-\n",), hunk)]
    found = resolve_files([ConflictedFile("m.py", "content", "", "", "", (*segments, ()))], Surroundings())
    assert found[0].text is None
    assert "more than the ladder trusts itself with" in found[0].hunks[0].why


def test_a_file_that_a_side_deleted_has_no_hunks_to_resolve() -> None:
    found = resolve_file(ConflictedFile("m.py", "deleted_by_us", "a\n", None, "b\n"), Surroundings())
    assert found.text is None
    assert found.hunks[0].why == "a deleted by us conflict has no hunks to resolve"
