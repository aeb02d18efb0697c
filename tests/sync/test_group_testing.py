"""The search for the guilty member of a bundle, as a function of what L1 answers."""

from collections.abc import Callable, Iterable

from hypothesis import given
from hypothesis import strategies as st

from headway.sync.group_testing import Ask, Found, Question, least_runs, next_step


def search(size: int, green: Callable[[Question], bool | None]) -> tuple[Found, dict[Question, bool | None]]:
    """Answers questions until the search ends; no question may come twice."""
    answers: dict[Question, bool | None] = {}
    while True:
        step = next_step(size, answers)
        if isinstance(step, Found):
            return step, answers
        assert step.members not in answers and step.members == tuple(sorted(set(step.members)))
        answers[step.members] = green(step.members)


def without(*bad: Iterable[int]) -> Callable[[Question], bool]:
    """Green unless all members of one of the `bad` sets are there."""
    return lambda question: not any(set(group) <= set(question) for group in bad)


def one_by_one(size: int, green: Callable[[Question], bool | None]) -> tuple[list[int], list[int]]:
    """(landed, refused) of a run that takes one change at a time."""
    landed: list[int] = []
    refused: list[int] = []
    for member in range(size):
        (landed if green((*landed, member)) else refused).append(member)
    return landed, refused


def in_bundles(size: int, green: Callable[[Question], bool | None]) -> tuple[list[int], list[int]]:
    """The same by bundles: what is left after an ejection is bundled again on top of what landed."""
    landed: list[int] = []
    refused: list[int] = []
    left = list(range(size))
    while left:
        base, members = tuple(landed), tuple(left)
        found, _ = search(len(members), lambda q: green((*base, *(members[n] for n in q))))  # noqa: B023
        landed += members[: found.lands]
        left = [] if found.guilty is None else list(members[found.guilty + 1 :])
        if found.guilty is not None:
            refused.append(members[found.guilty])
    return landed, refused


GUILTY = st.lists(st.sets(st.integers(0, 15), min_size=1, max_size=2), max_size=4)


def test_a_green_bundle_is_one_run() -> None:
    found, answers = search(20, without())
    assert found == Found(20) and len(answers) == 1


def test_one_guilty_is_found_within_the_bound_and_one_run_to_say_that_it_is_guilty_alone() -> None:
    for guilty in range(20):
        found, answers = search(20, without({guilty}))
        assert (found.lands, found.guilty, found.alone, found.partner) == (guilty, guilty, False, None)
        assert len(answers) <= 1 + least_runs(20) + 1


def test_two_that_only_fail_together_are_named_together_and_the_first_of_them_lands() -> None:
    for first in range(8):
        for second in range(first + 1, 8):
            found, _ = search(8, without({first, second}))
            assert (found.lands, found.guilty, found.alone, found.partner) == (second, second, True, first)


def test_the_story_of_eight_with_one_bad_and_one_pair() -> None:
    landed, refused = in_bundles(8, without({2}, {4, 6}))
    assert (landed, refused) == ([0, 1, 3, 4, 5, 7], [2, 6])


@given(size=st.integers(1, 16), bad=GUILTY)
def test_bundles_decide_what_single_changes_would_have_decided(size: int, bad: list[set[int]]) -> None:
    assert in_bundles(size, without(*bad)) == one_by_one(size, without(*bad))


@given(size=st.integers(1, 16), dice=st.randoms(use_true_random=False))
def test_whatever_l1_answers_the_search_ends_and_lands_only_what_it_saw_green(size: int, dice) -> None:
    found, answers = search(size, lambda _: dice.choice([True, False, None]))
    assert len(answers) <= 2 + 2 * least_runs(size) + 2
    if found.lands:
        assert answers[tuple(range(found.lands))] is True
    if found.guilty is not None:
        assert found.guilty == found.lands and answers[tuple(range(found.guilty + 1))] is not True
    if found.partner is not None:
        assert found.partner < found.lands


@given(size=st.integers(1, 200))
def test_the_bound_is_the_entropy_of_who_is_first(size: int) -> None:
    assert 2 ** (least_runs(size) - 1) < size + 1 <= 2 ** least_runs(size)


def test_the_next_question_depends_on_the_answers_only() -> None:
    assert next_step(5, {}) == next_step(5, {}) == Ask((0, 1, 2, 3, 4))
