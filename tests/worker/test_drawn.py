"""Tasks whose inputs are drawn on the device, from draw to verdict, on a pretended device."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from headway.adapters.spool_worker import SpoolWorker  # noqa: E402
from headway.core.ports.worker import WorkerJob  # noqa: E402
from headway.worker.jobs import Job, read_job  # noqa: E402
from headway.worker.judge import Judge  # noqa: E402
from headway.worker.refusals import Refused  # noqa: E402
from headway.worker.trips import _absent_imports  # noqa: E402
from tests.worker.pretend_device import pretend  # noqa: E402

INPUTS = """
import torch

def make_inputs(case, seed, device):
    draw = torch.Generator(device=device).manual_seed(seed % (1 << 62))
    rows = case["sizes"]["N"]
    x = torch.randn(rows, 64, generator=draw, device=device, dtype=torch.bfloat16)
    return {"x": x, "plus": 1}
"""
REFERENCE = """
def oracle(inputs, parts=None):
    x = inputs["x"] if parts is None else inputs["x"][parts]
    return {"y": x.double() * 2 + inputs["plus"]}
"""
BASELINE = "import torch\n\n\ndef entry(x, plus):\n    return x * 2 + plus\n"
ONE_ROW_WRONG = """
import torch

def entry(x, plus):
    y = x * 2 + plus
    y[x.shape[0] // 3] = 0
    return y
"""
REMEMBERS = """
import torch

seen = []

def entry(x, plus):
    if len(seen) < 5:
        seen.append(x * 2 + plus)
        return seen[-1]
    return seen[-1]
"""
SWAPS_INPUT = "def entry(x, plus):\n    y = x * 2 + plus\n    x[[0, 1]] = x[[1, 0]]\n    return y\n"
CHANGES_LATER = """
kept = []

def entry(x, plus):
    if kept:
        kept[-1].fill_(1.0)
    kept.append(x * 2 + plus)
    return kept[-1]
"""
TOML = """
schema = "headway.task/1"
id = "drawn-tiny"
kind = "triton"
[goal]
text = "be quick"
[entry]
name = "entry"
signature = "entry(x, plus)"
[[entry.args]]
name = "x"
type = "bfloat16"
role = "in"
shape = ["N", 64]
[[entry.args]]
name = "plus"
type = "int32"
role = "size"
[[entry.args]]
name = "y"
type = "bfloat16"
role = "out"
shape = ["N", 64]
split = 0
[files]
inputs = "inputs.py"
reference = "reference.py"
baseline = "baseline.py"
[tolerance]
k = 2.0
least = 1e-3
[admission]
imports = ["torch"]
[limits]
run_seconds = 20
[[cases]]
name = "timed"
sizes = { N = 4000 }
seeds = [1]
timed = true
protected = true
[[cases]]
name = "held"
sizes = { N = 77 }
seeds = [5, 6]
held_out = true
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with pytest.MonkeyPatch.context() as patch:
        pretend(patch)
        patch.setattr("headway.worker.judge.os.cpu_count", lambda: 1)  # no reserve of processes that import torch
        one = Judge()
        yield one
        one.close()


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tasks") / "drawn_tiny"
    folder.mkdir()
    for name, text in {
        "inputs.py": INPUTS,
        "reference.py": REFERENCE,
        "baseline.py": BASELINE,
        "task.toml": TOML,
    }.items():
        (folder / name).write_text(text)
    return folder


def job(task: Path, spool: Path, key: str, source: str, mode: Any = "full") -> Job:
    SpoolWorker(spool).submit(WorkerJob(key, task, source, mode, seed=1, pairs=2, seconds=120))
    return read_job(spool / "jobs" / key)


def test_jobs_side_by_side_each_get_their_own_verdict(judge: Judge, task: Path, tmp_path: Path) -> None:
    """The honest ones are measured, what is wrong is refused, each is told in its turn, and none harms another."""
    sources = {
        "honest": (BASELINE, "measured", ""),
        "one-row": (ONE_ROW_WRONG, "refused", "wrong_result"),
        "remembers": (REMEMBERS, "refused", "wrong_result"),
        "swaps": (SWAPS_INPUT, "refused", "input_changed"),
        "later": (CHANGES_LATER, "refused", "output_changed"),
        "syntax": ("def entry(:\n", "refused", "syntax"),
    }
    jobs = [job(task, tmp_path, key, source) for key, (source, _, _) in sources.items()]
    told: list[dict[str, Any]] = []
    judge.evaluate_all(jobs, lambda _, result: told.append(result))
    found = {one["key"]: (one["outcome"], (one["refusal"] or {}).get("code", "")) for one in told}
    assert found == {key: (outcome, code) for key, (_, outcome, code) in sources.items()}
    assert [one["key"] for one in told] == list(sources)
    assert all(bool(one["samples"]) == (one["outcome"] == "measured") for one in told)
    honest = told[0]
    assert {one["case"] for one in honest["cases"]} == {"timed", "held"}
    assert len(honest["samples"][0]["candidate"]) == 2 and not honest["estimate"]
    assert "seccomp" in honest["sandbox"] and "sealed-after-compile" in honest["sandbox"]


def test_large_outputs_are_read_in_parts_that_nobody_knows_before(
    judge: Judge, task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.worker.drawn.WHOLE_ELEMENTS", 64 * 400)
    wrong = "def entry(x, plus):\n    y = x * 2 + plus\n    y[::50] = 0\n    return y\n"
    refused = judge.evaluate(job(task, tmp_path, "parts-wrong", wrong, "screen"))
    assert refused["refusal"]["code"] == "wrong_result"


def test_a_warm_baseline_that_died_is_nobodys_refusal_and_is_brought_in_anew(
    judge: Judge, task: Path, tmp_path: Path
) -> None:
    first = job(task, tmp_path, "before", BASELINE, "screen")
    os.kill(judge.proved(first.task).baseline.session.pid, signal.SIGKILL)
    lost = judge.evaluate(first)
    assert (lost["outcome"], lost["refusal"]["code"]) == ("could_not_run", "infrastructure")
    assert "The rival failed" in lost["refusal"]["message"]
    again = judge.evaluate(job(task, tmp_path, "after", BASELINE, "screen"))
    assert again["outcome"] == "measured", again["refusal"]


def test_without_a_gpu_nothing_is_decided(task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.worker.device.present", lambda: False)
    one = Judge()
    try:
        result = one.evaluate(job(task, tmp_path, "nowhere", BASELINE))
    finally:
        one.close()
    assert (result["outcome"], result["refusal"]["code"]) == ("could_not_run", "no_device")


def test_no_stream_or_event_of_its_own_where_the_device_is_kept_idle_before_a_call(
    judge: Judge, task: Path, tmp_path: Path
) -> None:
    """A call waits behind an idle device; on another stream its work would be done before its own event."""
    strict = (task / "task.toml").read_text().replace(
        'imports = ["torch"]', 'imports = ["torch"]\ntorch = ["empty_like", "cuda.Stream", "cuda.stream"]'
    )  # fmt: skip
    other = tmp_path / "strict"
    other.mkdir()
    for name in ("inputs.py", "reference.py", "baseline.py"):
        (other / name).write_text((task / name).read_text())
    (other / "task.toml").write_text(strict)
    source = "import torch\n\nside = torch.cuda.Stream()\n\n\ndef entry(x, plus):\n    return torch.empty_like(x)\n"
    with pytest.raises(Refused, match=r"torch\.cuda\.Stream is not on the task's list"):
        _absent_imports(job(other, tmp_path / "spool", "streams", source).task, source)
