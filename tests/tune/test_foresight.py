"""Batches of foreseen jobs stay whole."""

import pytest

from headway.tune.foresight import later_in_batch


@pytest.mark.parametrize("at_once", [1, 2, 16])
def test_every_attempt_belongs_to_one_batch_and_only_its_first_sends_the_whole_of_it(at_once: int) -> None:
    sent = [later_in_batch(attempt, at_once) for attempt in range(3 * at_once)]
    assert sent == list(range(at_once - 1, -1, -1)) * 3
