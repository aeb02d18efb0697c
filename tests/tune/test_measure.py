"""The decisions over raw samples: pure, with known answers."""

import math

import numpy as np
import pytest

from benchmarks.tune_world import world_task
from headway.core.gates import NotDecided, Passed, Refused
from headway.core.ports.worker import CaseFact, Samples
from headway.core.task import Case, Floor
from headway.tune.measure import promotion
from headway.tune.measure.correctness import correct, worst_of
from headway.tune.measure.floor import above_floor
from headway.tune.measure.timing import BadSamples, noise_of, ratio_of, spread


def samples(ratio: float, count: int = 20, noise: float = 0.0, seed: int = 1, **parts: object) -> Samples:
    rng = np.random.default_rng(seed)
    rival = 1e-3 * np.exp(noise * rng.standard_normal(count))
    values = {"case": "small", "protected": False, **parts}
    return Samples(
        candidate=tuple(1e-3 / ratio for _ in rival), rival=tuple(rival), calls_per_sample=1, bracket_error=0, **values
    )  # type: ignore[arg-type]


def test_ratio_is_the_geometric_mean_over_cases_with_an_interval_that_holds_it() -> None:
    ratio = ratio_of([samples(2.0), samples(0.5, case="large")], seed=1)
    assert ratio.point == pytest.approx(1.0) and ratio.low == pytest.approx(1.0) and ratio.blocks == 20
    noisy = ratio_of([samples(1.2, noise=0.1)], seed=1)
    assert noisy.low < 1.2 < noisy.high and noisy == ratio_of([samples(1.2, noise=0.1)], seed=1)


def test_a_few_blocks_hit_by_the_scheduler_move_neither_ratio_nor_noise_much() -> None:
    clean = samples(1.1, noise=0.02)
    hit = Samples(
        "small", clean.candidate, tuple(r * (9 if n % 7 == 0 else 1) for n, r in enumerate(clean.rival)), False, 1, 0
    )
    assert ratio_of([hit], 1).point == pytest.approx(ratio_of([clean], 1).point, rel=0.02)
    assert noise_of([hit]) < 3 * noise_of([clean])


@pytest.mark.parametrize(
    ("candidate", "rival", "words"),
    [
        ((), (), "0 candidate samples and 0 of the rival"),
        ((1.0,), (1.0, 2.0), "1 candidate samples and 2 of the rival"),
        ((math.nan, 1.0), (1.0, 1.0), "a time is not a finite number"),
        ((0.0, 1.0), (1.0, 1.0), "a time is not positive"),
    ],
)
def test_what_is_no_measurement_is_said_to_be_none(
    candidate: tuple[float, ...], rival: tuple[float, ...], words: str
) -> None:
    with pytest.raises(BadSamples, match=words):
        ratio_of([Samples("small", candidate, rival, False, 1, 0)], 1)
    with pytest.raises(BadSamples, match="one block says nothing"):
        spread(np.array([0.1]))


def test_the_errors_of_all_tests_of_a_campaign_sum_to_alpha() -> None:
    shares = [promotion.plan(number, 0.05, 0.1, 1, 0.02).alpha for number in range(1, 5000)]
    assert 0.0499 < sum(shares) < 0.05


def test_a_plan_grows_with_noise_and_number_and_shrinks_with_cases_and_gain() -> None:
    def blocks(number: int = 1, noise: float = 0.05, cases: int = 1, gain: float = 0.03) -> int:
        return promotion.plan(number, 0.05, noise, cases, gain).blocks

    assert blocks(noise=0.1) > blocks() > blocks(cases=3) and blocks(number=9) > blocks() > blocks(gain=0.1)
    assert promotion.plan(1, 0.05, 0.5, 1, 0.01, most_blocks=3).blocks == promotion.FEWEST_BLOCKS
    assert promotion.sized_for(1.0, 0.02) == 0.02 and promotion.sized_for(1.44, 0.02) == pytest.approx(0.2)


def test_promotion_wants_the_lower_bound_above_one() -> None:
    test = promotion.plan(1, 0.05, 0.05, 1, 0.05)
    clear = promotion.decide([samples(1.2, noise=0.05, count=30)], test)
    assert isinstance(clear.verdict, Passed) and 1 < clear.bound < clear.ratio
    unsure = promotion.decide([samples(1.005, noise=0.05, count=30)], test)
    assert isinstance(unsure.verdict, Refused) and unsure.verdict.reason == "not_faster"
    assert "nothing better than" in unsure.verdict.message


def test_a_slower_protected_case_refuses_a_faster_whole() -> None:
    test = promotion.plan(1, 0.05, 0.01, 2, 0.05)
    decision = promotion.decide([samples(0.9, noise=0.01, protected=True), samples(2.0, case="large")], test)
    assert isinstance(decision.verdict, Refused) and decision.verdict.reason == "protected_case_worse"
    assert "The protected case small runs at 0.9" in decision.verdict.message


def fact(name: str, error: float = 1e-8, **parts: bool) -> CaseFact:
    values = {"held_out": False, "protected": False, "ok": True, **parts}
    return CaseFact(name, values["held_out"], values["protected"], error, 1e-6, values["ok"], "row 3 is off")


def test_correctness_looks_at_every_fact_and_does_not_name_held_out_cases(tmp_path) -> None:  # type: ignore[no-untyped-def]
    task = world_task(tmp_path)
    whole = [fact("small"), fact("large"), fact("hidden", held_out=True)]
    assert isinstance(correct(task, "full", whole), Passed)
    assert worst_of(whole) == pytest.approx(0.01)
    missing = correct(task, "full", whole[:2])
    assert isinstance(missing, NotDecided) and "did not check hidden" in missing.message
    wrong = correct(task, "screen", [fact("small", 1e-3)])
    assert isinstance(wrong, Refused) and (wrong.reason, wrong.next) == ("wrong_result", "row 3 is off")
    hidden = correct(task, "full", [fact("hidden", 1e-3, held_out=True)])
    assert isinstance(hidden, Refused) and "hidden" not in hidden.message and "row 3" not in hidden.next
    infinite = correct(task, "full", [fact("small", math.inf)])
    assert isinstance(infinite, Refused) and infinite.reason == "not_finite"
    assert isinstance(correct(task, "screen", []), NotDecided)


def test_faster_than_the_floor_is_quarantined(tmp_path) -> None:  # type: ignore[no-untyped-def]
    floor = Floor("2*n**3", "", 1.0, 0.0)  # 1 GFLOP/s, n = 100: 2 ms
    case = Case("big", {"n": 100}, (1,), "normal", held_out=True, timed=True, protected=False)
    task = world_task(tmp_path, floor=floor, cases=(case,))
    honest = Samples("big", (2.1e-3,) * 3, (3e-3,) * 3, False, 1, 0)
    assert isinstance(above_floor(task, [honest]), Passed)
    magic = above_floor(task, [Samples("big", (1e-4, 1e-4, 9e-3), (3e-3,) * 3, False, 1, 0)])
    assert isinstance(magic, Refused) and magic.reason == "below_floor"
    assert "A held-out case took 0.0001 s" in magic.message and "0.002 s" in magic.message
