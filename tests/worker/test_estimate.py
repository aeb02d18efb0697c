"""Triton tasks without a GPU, for real: compiled for sm_90 in the sandbox, interpreted, labelled estimate."""

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="triton is not installed (pip install headway[kernels])")

from headway.adapters.local_worker import LocalWorker
from headway.core.fingerprint import of_result
from headway.core.ports.worker import WorkerJob, WorkerResult

TASK = Path(__file__).parents[2] / "src" / "headway" / "tasks" / "softmax"
BASELINE = (TASK / "baseline.py").read_text()


@pytest.fixture(scope="module")
def worker() -> Iterator[LocalWorker]:
    one = LocalWorker()
    yield one
    one.close()


def judged(worker: LocalWorker, source: str, key: str) -> WorkerResult:
    worker.submit(WorkerJob(key, TASK, source, "screen", seed=1, pairs=2, seconds=300))
    result = worker.collect(key, 400)
    assert result is not None
    return result


@pytest.mark.timeout(600)
def test_a_kernel_is_compiled_interpreted_and_never_called_measured(worker: LocalWorker) -> None:
    result = judged(worker, BASELINE, "fine")
    if not result.estimate:
        pytest.skip("this machine has a GPU")
    assert result.outcome == "measured", result.refusal
    (kernel,) = of_result(result.compile)["rows-8192x4096"]
    assert kernel.name == "softmax_kernel"
    assert kernel.registers > 0
    assert kernel.instructions["special function"] > 0
    assert result.samples[0].candidate == result.samples[0].rival
    assert "seccomp" in result.sandbox


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("tl.exp(values", "tl.no_such_function(values"), "compile_failed"),
        (("y = torch.empty_like(x)", "return torch.softmax(x, dim=-1)"), "banned_call"),
        (("softmax_kernel[(rows,)]", "softmax_kernel[(rows if rows < 64 else 1,)]"), "not_estimable"),
    ],
)
def test_what_is_wrong_is_refused(worker: LocalWorker, change: tuple[str, str], code: str) -> None:
    source = BASELINE.replace(*change)
    assert source != BASELINE
    result = judged(worker, source, f"bad-{code}")
    assert result.refusal is not None and result.refusal.code == code, result.refusal
