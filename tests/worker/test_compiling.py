"""How the compile job reads a kernel's file. No Triton is needed here; tests/validate/test_static.py has real ones."""

import json
import os
import sys
from pathlib import Path

import pytest

from headway.worker.compiling import batch, inputs

FILE = """
import {package}
from {package}.nn import functional as F


class Kernel:
    def warmup(self):
        return "warm"


class Autotuner:
    fn = Kernel()

    def warmup(self):
        return "tuned"


plain, tuned = Kernel(), Autotuner()


def entry(x: {package}.Tensor | None, y: "int | F.X" = {package}.float32):
    return {package}.empty(x)
"""


@pytest.fixture(autouse=True)
def _path_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])


def test_an_absent_package_of_host_code_is_stood_in_for_and_gone_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "STAND_INS", ("no_such_package",))
    path = tmp_path / "kernels.py"
    path.write_text(FILE.format(package="no_such_package"))
    kernel, stood_in = inputs.load(str(path), "plain")
    assert (kernel.warmup(), stood_in) == ("warm", ["no_such_package"])
    assert not [name for name in sys.modules if name.startswith("no_such_package")]
    assert inputs.load(str(path), "tuned")[0].warmup() == "warm"


def test_a_package_that_is_there_is_not_stood_in_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "present").mkdir()
    (tmp_path / "present" / "__init__.py").write_text(
        "try:\n    from . import optional\nexcept ImportError:\n    optional = None\n"
    )
    monkeypatch.setattr(inputs, "STAND_INS", ("present",))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "k.py").write_text("import present\n\n\nclass K:\n    warmup = present.optional\n\n\nk = K()\n")
    kernel, stood_in = inputs.load(str(tmp_path / "k.py"), "k")
    assert (kernel.warmup, stood_in) == (None, [])


@pytest.mark.parametrize(
    ("source", "name", "said"),
    [
        ("import no_such_package\nno_such_package.compile()\n", "k", "no_such_package.compile is called"),
        ("import quite_another\n", "k", "No module named 'quite_another'"),
        ("raise ValueError('mine')\n", "k", "ValueError: mine"),
        ("k = 3\n", "k", "has no Triton kernel k"),
        ("k = 3\n", "other", "has no Triton kernel other"),
    ],
)
def test_a_file_that_gives_no_kernel_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, name: str, said: str
) -> None:
    monkeypatch.setattr(inputs, "STAND_INS", ("no_such_package",))
    (tmp_path / "k.py").write_text(source)
    with pytest.raises(inputs.CannotRun, match=said):
        inputs.load(str(tmp_path / "k.py"), name)


def test_arguments_are_pointers_blocks_or_the_scalars_of_a_launch() -> None:
    assert inputs.argument(4096) == 4096 and inputs.argument(0.5) == 0.5 and inputs.argument(True) is True
    pointer = inputs.argument("*bf16")
    assert (str(pointer.dtype), pointer.dtype.itemsize, pointer.data_ptr()) == ("torch.bfloat16", 2, 0)
    for bad in ("*float", "fp32", "bf16[]", "nonsense"):
        with pytest.raises(inputs.CannotRun):
            inputs.argument(bad)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the compile job forks")
def test_a_compiler_that_dies_takes_one_kernel_with_it(tmp_path: Path) -> None:
    (tmp_path / "dies.py").write_text(
        "import os, faulthandler\n\nfaulthandler.disable()\nos.write(2, b'LLVM ERROR: Cannot select\\n')\nos.abort()\n"
    )
    (tmp_path / "hangs.py").write_text("import time\n\ntime.sleep(60)\n")
    kernels = [
        {
            "name": name,
            "file": f"{name}.py",
            "function": "k",
            "arguments": {},
            "constants": {},
            "options": {},
            "archs": [90],
        }
        for name in ("dies", "hangs")
    ]
    job = {"root": str(tmp_path), "kernels": kernels, "seconds": 0.5, "jobs": 2}
    results = {one["name"]: one for one in batch.Batch(job, str(tmp_path))._all([(one, 90) for one in kernels])}
    assert results["dies"]["outcome"] == "failed"
    assert results["dies"]["message"] == "the compiler died (signal 6): LLVM ERROR: Cannot select"
    assert results["hangs"]["message"] == "compiling took more than 0.5 s"
    json.dumps(results)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("/home/me/k.py:3:9: error: no such layout\nmore\n", "RuntimeError: x; k.py:3:9: error: no such layout"),
        ("python: /src/O.cpp:3: bool f(): Assertion `a && b' failed.\n", "RuntimeError: x; Assertion `a && b' failed"),
        ("nothing of use\n", "RuntimeError: x"),
    ],
)
def test_a_compiler_that_gives_up_is_quoted_without_folders(tmp_path: Path, said: str, told: str) -> None:
    job = batch.Batch({"root": str(tmp_path), "kernels": [], "seconds": 1, "jobs": 1}, str(tmp_path))
    (tmp_path / "k.log").write_text(said)
    assert job._with_diagnostic("RuntimeError: x", str(tmp_path / "k")) == told
