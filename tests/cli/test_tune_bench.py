"""`headway tune bench`: what can be timed here is, and what cannot is said."""

import json
import subprocess
import sys

import pytest

from headway.cli.bench_words import bench_lines
from headway.wiring.bench import Bench
from headway.wiring.lab import has_gpu


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "headway", "tune", "bench", *arguments],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip


@pytest.mark.skipif(has_gpu(), reason="here the kernels would be timed")
def test_a_kernel_that_needs_a_gpu_could_not_run_and_the_others_are_timed() -> None:
    done = run("cpu-softmax", "kda", "mla-decode", "--json")
    assert done.returncode == 4 and "Traceback" not in done.stderr, done.stderr
    told = json.loads(done.stdout)
    assert told["schema"] == "headway.tune-bench/1"
    softmax, kda, decode = told["tasks"]
    assert "no NVIDIA GPU" in kda["could_not_run"] and "no NVIDIA GPU" in decode["could_not_run"]
    assert not softmax["could_not_run"] and softmax["rows"]
    for row in softmax["rows"]:
        low, high = row["interval"]
        assert 0.5 < low <= row["ratio"] <= high < 2 and row["seconds"] > row["floor_seconds"]


def test_an_unknown_task_is_one_sentence() -> None:
    done = run("cpu-softmaxx")
    assert done.returncode == 1 and "Did you mean cpu-softmax" in done.stderr


def test_words_for_what_the_measuring_program_writes() -> None:
    mla = {"workload": "prefill causal", "variant": "headway", "mode": "burst", "median": 5.9, "low": 5.8, "high": 6.0}
    absent = {"workload": "prefill causal", "variant": "fa3", "could_not_run": "no wheel"}
    lines = list(bench_lines([Bench("mla", "how", {"rows": [mla, absent]}), Bench("kda", "", could_not_run="no GPU")]))
    assert lines[0] == "mla: how" and '"burst", median 5.9' in lines[1] and '"no wheel"' in lines[2]
    assert lines[3] == "kda: could not run: no GPU"
