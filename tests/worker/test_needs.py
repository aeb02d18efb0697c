"""A Triton task where the worker has no torch or triton: nothing is decided, and the sentence says what to do."""

from pathlib import Path

import pytest

from headway.worker import judge
from headway.worker.jobs import Job, Task


def test_a_triton_task_without_its_packages_could_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(judge, "TRITON_NEEDS", ("triton_is_not_here", "torch"))
    task = Task("t", "triton", "entry", (), (), tmp_path, {"files": {}}, "digest")
    one = judge.Judge()._begun(Job("key", task, "", None, "screen", 1, 1, 1.0))
    result = one.finished()
    assert result["outcome"] == "could_not_run"
    assert "this worker's Python has no triton_is_not_here" in result["refusal"]["message"]
    assert "HEADWAY_WORKER_PYTHON" in result["refusal"]["next"]
