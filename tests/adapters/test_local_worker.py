"""Judge and runner for real: one warm worker process, one tiny task, honest and broken candidates."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.adapters.local_worker import LocalWorker
from headway.core.ports.worker import WorkerJob, WorkerResult
from tests.worker.tiny_task import BASELINE, BASELINE_C, tiny_task


@pytest.fixture(scope="module")
def worker() -> Iterator[LocalWorker]:
    one = LocalWorker()
    yield one
    one.close()


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_task(tmp_path_factory.mktemp("task") / "tiny")


def judged(worker: LocalWorker, task: Path, source: str, key: str, **more: object) -> WorkerResult:
    worker.submit(WorkerJob(key, task, source, "full", seed=1, pairs=3, **more))  # type: ignore[arg-type]
    result = worker.collect(key, 60)
    assert result is not None
    return result


def test_an_honest_candidate_is_measured_on_every_case(worker: LocalWorker, task: Path) -> None:
    result = judged(worker, task, BASELINE, "honest")
    assert result.outcome == "measured", result.refusal
    assert {fact.case: fact.ok for fact in result.cases} == {"timed": True, "held": True}
    (samples,) = result.samples
    assert len(samples.candidate) == len(samples.rival) == 3
    assert all(0 < one < 1 for one in samples.candidate + samples.rival)
    assert "stopped-between-calls" in result.sandbox
    assert not result.estimate


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("def entry(x:\n", "syntax"),
        ("def other(x): return x\n", "no_entry"),
        ("def entry(x): return x * 2\n", "wrong_result"),
        ("def entry(x): return (x * 2 + 1)[:-1]\n", "wrong_shape"),
        ("def entry(x): return x.astype('float64') * 2 + 1\n", "wrong_shape"),
        ("def entry(x): return x * float('nan')\n", "not_finite"),
        ("def entry(x): return [1]\n", "output_type"),
        ("def entry(x):\n    x *= 2\n    x += 1\n    return x\n", "input_changed"),
        ("def entry(x): raise ValueError('no')\n", "raised"),
        ("def entry(x):\n    while True: pass\n", "timed_out"),
        ("import numpy as np\ndef entry(x):\n    np.empty(200 << 30, np.uint8)\n    return x * 2 + 1\n", "raised"),
        ("def entry(x):\n    print('x' * 10000)\n    return x * 2 + 1\n", "output_limit"),
        ("import scipy\ndef entry(x): return x * 2 + 1\n", "banned_import"),
    ],
)
def test_a_broken_candidate_is_refused_with_its_reason_and_no_figures(
    worker: LocalWorker, task: Path, source: str, code: str
) -> None:
    result = judged(worker, task, source, f"broken-{abs(hash(source))}")
    assert result.outcome == "refused", result.refusal
    assert result.refusal is not None
    assert result.refusal.code == code, result.refusal
    assert result.refusal.next
    assert result.samples == ()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("source", "outcome", "code"),
    [
        (BASELINE_C, "measured", None),
        ("void entry(int n, const float *x, float *y) { n = }\n", "refused", "compile_failed"),
        ("void entry(int n, const float *x, float *y) { *(volatile int *)8 = 1; }\n", "refused", "died"),
        (BASELINE_C.replace("i < n", "i < n + 9"), "refused", "out_of_bounds"),
        (BASELINE_C.replace("i < n", "i < n - 9"), "refused", "not_finite"),
    ],
)
def test_a_c_candidate(worker: LocalWorker, tmp_path: Path, source: str, outcome: str, code: str | None) -> None:
    result = judged(worker, tiny_task(tmp_path / "tiny-c", "cpu-c"), source, f"c-{abs(hash(source))}")
    assert (result.outcome, result.refusal and result.refusal.code) == (outcome, code), result.refusal
