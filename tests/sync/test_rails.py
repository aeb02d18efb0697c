"""Each rail: an honest result that must pass, and the lie that it exists for."""

import pytest

from headway.core.config import Invariant
from headway.core.gates import Refused
from headway.core.reasons import Reason
from headway.sync.conflict import Hunk, lines_of
from headway.sync.rails import RAILS
from headway.sync.rails.facts import FileFacts, Proposal
from headway.sync.survival import survey

BASE = "def a(x):\n    return x\n\n\ndef run(x):\n    return a(x)\n"
OURS = BASE.replace("return x\n", "return x  # forks\n", 1)
THEIRS = "def helper(x):\n    return x * 2\n\n\n" + BASE.replace("return a(x)", "return a(helper(x))")
HONEST = "def helper(x):\n    return x * 2\n\n\n" + OURS.replace("return a(x)", "return a(helper(x))")


def resolved(result: str, *, base: str = BASE, ours: str = OURS, theirs: str = THEIRS, path: str = "m.py") -> FileFacts:
    """A file that was one single conflict."""
    whole = ((), Hunk(0, lines_of(ours), lines_of(base), lines_of(theirs)), ())
    return FileFacts(path, base, ours, theirs, result, None, whole)


def reasons(*files: FileFacts, invariants: tuple[Invariant, ...] = ()) -> list[str]:
    return [why.reason.value for why in survey(Proposal(files, invariants)).refusals]


def test_an_honest_resolution_passes_every_rail() -> None:
    assert reasons(resolved(HONEST)) == []


def test_a_helper_that_is_kept_without_its_only_call_is_refused_by_name() -> None:
    lie = HONEST.replace("a(helper(x))", "a(x)")
    verdict = RAILS["call_site_dropped"](Proposal((resolved(lie),)))
    assert isinstance(verdict, Refused)
    assert verdict.message == "helper: 0 references (upstream 1)."


def test_a_call_of_an_old_function_that_upstream_added_must_survive() -> None:
    theirs = BASE.replace("return a(x)", "return a(a(x))")
    assert reasons(resolved(OURS.replace("return a(x)", "return x"), theirs=theirs)) == ["call_site_dropped"]


def test_a_dropped_definition_is_named_with_the_side_that_has_it() -> None:
    lie = OURS.replace("return a(x)", "return a(helper(x))")
    verdict = RAILS["definition_dropped"](Proposal((resolved(lie),)))
    assert isinstance(verdict, Refused)
    assert verdict.message == "m.py: upstream defines helper, the result does not."


def test_a_definition_that_moved_to_another_file_of_the_pick_is_not_dropped() -> None:
    moved = FileFacts("new.py", None, None, "def a(x):\n    return x\n", "def a(x):\n    return x\n")
    theirs = "from new import a\n\n\ndef run(x):\n    return a(x)\n"
    assert reasons(resolved(theirs, theirs=theirs), moved) == []


@pytest.mark.parametrize("path", ["m.py", "generated.bzl", "page.rst"])
def test_markers_are_refused_in_any_file_and_a_heading_is_not_one(path: str) -> None:
    text = "Title\n=======\n\ntext\n"
    facts = {"base": text, "ours": text, "theirs": text, "path": path}
    verdict = RAILS["conflict_markers"](Proposal((resolved(text + "<<<<<<< HEAD\nx\n", **facts),)))
    assert isinstance(verdict, Refused)
    assert (verdict.reason, verdict.message) == (Reason.MARKERS, f"{path}:5: a conflict marker is left.")
    assert RAILS["conflict_markers"](Proposal((resolved(text + "=======\n", **facts),))).kind == "passed"


def test_only_the_conflict_may_change() -> None:
    hunk = Hunk(0, ("b = 2\n",), ("b = 0\n",), ("b = 3\n",))
    segments = (("a = 1\n",), hunk, ("c = 1\n", "d = 1\n"))
    sides = ["a = 1\n" + "".join(side) + "c = 1\nd = 1\n" for side in (hunk.base, hunk.ours, hunk.theirs)]
    inside = FileFacts("m.py", *sides, "a = 1\nb = 5\nb = 6\nc = 1\nd = 1\n", None, segments)
    outside = FileFacts("m.py", *sides, "a = 1\nb = 3\nc = 1\nd = 9\n", None, segments)
    another = FileFacts("n.py", "x = 1\n", "x = 2\n", "x = 1\n", "x = 3\n", merged="x = 2\n")
    assert RAILS["outside_conflict"](Proposal((inside,))).kind == "passed"
    assert reasons(outside) == ["outside_conflict"]
    assert reasons(another) == ["outside_conflict"]


def test_a_syntax_error_that_no_side_has_is_refused() -> None:
    assert reasons(resolved(HONEST.replace("return a(helper(x))", "return a(helper(x)"))) == ["unparsable"]
    lie = '{"a": 1,}'
    assert reasons(resolved(lie, base='{"a": 0}', ours='{"a": 1}', theirs='{"a": 2}', path="m.json")) == ["unparsable"]


def test_a_reordered_line_that_a_clean_pick_counts_twice_is_refused() -> None:
    lines = ["  pm.addPass(createA());", "  pm.addPass(createB());", "  pm.addPass(createC());"]
    a, b, c = lines
    base, ours, theirs, merged = ("\n".join(order) + "\n" for order in ((a, b, c), (b, a, c), (b, c, a), (b, a, c, a)))
    verdict = RAILS["duplicated"](Proposal((FileFacts("p.txt.cpp", base, ours, theirs, merged, merged),)))
    assert isinstance(verdict, Refused)
    assert "'pm.addPass(createA());' stands twice" in verdict.message


def test_the_same_definition_from_both_sides_at_two_places_is_refused() -> None:
    twin = "def twin(x):\n    return x\n\n\n"
    ours, theirs = twin + BASE, BASE + "\n\n" + twin
    merged = twin + BASE + "\n\n" + twin
    verdict = RAILS["duplicated"](Proposal((FileFacts("m.py", BASE, ours, theirs, merged, merged),)))
    assert isinstance(verdict, Refused)
    assert verdict.message == "m.py: twin is defined twice."


def test_overloads_and_alternatives_are_no_duplicates() -> None:
    text = (
        "try:\n    def f(x):\n        return x\nexcept ImportError:\n    def f(x):\n        return 0\n\n\n"
        "class A:\n    @property\n    def g(self):\n        return 1\n\n"
        "    @g.setter\n    def g(self, v):\n        pass\n"
    )
    assert RAILS["duplicated"](Proposal((FileFacts("m.py", "", "", text, text, text),))).kind == "passed"
    cpp = "void f(int a) {}\nvoid f(float a) {}\nstruct A { void v() {} };\nstruct B { void v() {} };\n"
    assert RAILS["duplicated"](Proposal((FileFacts("m.cpp", "", "", cpp, cpp, cpp),))).kind == "passed"


def test_an_invariant_of_the_fork_must_hold_as_often_as_before() -> None:
    kept = Invariant(("*.py",), r"# forks\b", reason="The fork's marker.")
    assert reasons(resolved(HONEST), invariants=(kept,)) == []
    verdict = RAILS["invariant_broken"](Proposal((resolved(THEIRS),), (kept,)))
    assert isinstance(verdict, Refused)
    assert "is found 0 times (the fork has it 1 times). The fork's marker." in verdict.message


TESTS = "def test_one():\n    assert f(1) == 2\n    assert f(2) == 3\n\n\ndef test_two():\n    assert g() == 5\n"


def in_a_test(result: str, ours: str = TESTS + "# fork\n", theirs: str = TESTS.replace("f(1)", "f(1, 0)")) -> list[str]:
    return reasons(resolved(result, base=TESTS, ours=ours, theirs=theirs, path="tests/test_m.py"))


def test_tests_may_not_be_deleted_skipped_weakened_nor_their_expectations_rewritten() -> None:
    honest = TESTS.replace("f(1)", "f(1, 0)") + "# fork\n"
    assert in_a_test(honest) == []
    assert "test_deleted" in in_a_test(honest.replace("def test_two():\n    assert g() == 5\n", ""))
    assert in_a_test(
        "import pytest\n\n\n" + honest.replace("def test_two", '@pytest.mark.skip("x")\ndef test_two')
    ) == ["test_skipped"]
    assert in_a_test(honest.replace("    assert f(2) == 3\n", "")) == ["test_weakened"]
    assert in_a_test(honest.replace("g() == 5", "g() == 6")) == ["golden_rewritten"]


def test_a_skip_or_deletion_that_a_side_made_is_that_sides_business() -> None:
    without = TESTS.replace("def test_two():\n    assert g() == 5\n", "")
    assert in_a_test(without + "# fork\n", theirs=without) == []
    skipped = TESTS.replace("def test_two", "@pytest.mark.skip\ndef test_two")
    assert in_a_test(skipped + "# fork\n", theirs=skipped) == []


def test_a_resolution_that_leaves_most_of_the_change_out_is_refused() -> None:
    base = "".join(f"value_{i} = {i}\n" for i in range(10))
    theirs = base.replace(" = ", " = 1")
    ours = base.replace("value_0 = 0", "value_0 = 7")
    assert reasons(resolved(ours, base=base, ours=ours, theirs=theirs)) == ["residual"]
    assert reasons(resolved(theirs, base=base, ours=ours, theirs=theirs)) == []
