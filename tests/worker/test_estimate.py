"""Triton tasks without a GPU, for real: compiled for sm_90 in the sandbox, interpreted, labelled estimate."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="triton is not installed (pip install headway[kernels])")

from headway.adapters.local_worker import LocalWorker
from headway.core.fingerprint import of_result
from headway.core.ports.worker import WorkerJob, WorkerResult

TASK = Path(__file__).parents[2] / "src" / "headway" / "tasks" / "softmax"
BASELINE = (TASK / "baseline.py").read_text()


BEYOND = "tl.store(x + tl.num_programs(0) * columns + at, e, mask=at < 16)"


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
        (("    tl.store(y", f"    {BEYOND}\n    tl.store(y"), "out_of_bounds"),
    ],
)
def test_what_is_wrong_is_refused(worker: LocalWorker, change: tuple[str, str], code: str) -> None:
    source = BASELINE.replace(*change)
    assert source != BASELINE
    result = judged(worker, source, f"bad-{code}")
    assert result.refusal is not None and result.refusal.code == code, result.refusal


ENDLESS = ("    e = tl.exp(", "    i = 0\n    while i < 1:\n        i = i * 1\n    e = tl.exp(")
UNROLLED = (
    "    e = tl.exp(",
    "    for _ in tl.static_range(200000):\n        values = values * 1.5 + 1.0\n    e = tl.exp(",
)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("change", [ENDLESS, UNROLLED], ids=["a kernel without an end", "a compile of ten minutes"])
def test_what_does_not_end_is_ended(worker: LocalWorker, change: tuple[str, str], tmp_path: Path) -> None:
    """Each phase has the task's limit; the next candidate is judged as ever."""
    hasty = tmp_path / "softmax"
    shutil.copytree(TASK, hasty)
    text = (TASK / "task.toml").read_text().replace("compile_seconds = 120", "compile_seconds = 5")
    (hasty / "task.toml").write_text(text.replace("run_seconds = 60", "run_seconds = 3"))
    worker.submit(WorkerJob(tmp_path.name, hasty, BASELINE.replace(*change), "screen", seed=1, pairs=2, seconds=300))
    result = worker.collect(tmp_path.name, 400)
    assert result is not None and result.refusal is not None
    assert (result.outcome, result.refusal.code) == ("refused", "timed_out"), result.refusal
    assert sum(result.seconds.values()) < 240
