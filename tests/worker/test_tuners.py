"""Autotuners in the lab's hands: chosen alone, told, pinned, and the same again when the same source comes back."""

from pathlib import Path

from tests.interpreting import Interpreting


def test_a_real_autotuner_chooses_when_it_is_told_to_and_never_later(interpreting: Interpreting) -> None:
    told = interpreting.run(Path(__file__).with_name("tuned_kernel.py"))
    assert told["right"] and told["right_again"] and told["right_pinned"]
    assert (told["crowded"], told["timed_crowded"]) == (16, [])  # beside others nothing is timed: the first stands
    assert told["tuners"] == 1
    assert told["ran"] == 64  # the fastest by the clock, though it stands second
    (chosen,) = told["chosen"]
    assert chosen["kernel"] == "double" and chosen["of"] == 3 and chosen["config"].startswith("BLOCK: 64,")
    assert [us for _, us in chosen["microseconds"]] == [62500.0, 15625.0, 31250.0]
    assert told["timed_pinned"] == 0
    assert told["late"] == ["double"]
    assert told["ran_given"] == 32 and told["given"][0].startswith("BLOCK: 32,")
    assert told["timed_given"] == 0  # what was chosen once is not timed again
