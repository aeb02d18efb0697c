"""Where Gluon kernels run, and the sentence that says why not elsewhere."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

from headway.tasks.error import relative_error  # noqa: E402
from headway.tasks.gluon import why_no_gluon  # noqa: E402

GPU = torch.device("cuda:0")


@pytest.fixture
def hopper(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    monkeypatch.setattr(triton, "__version__", "3.6.1")


def test_a_hopper_gpu_with_the_release_the_kernels_are_for(hopper):
    assert why_no_gluon(GPU) is None


def test_a_cpu_has_no_gluon(hopper):
    assert why_no_gluon(torch.device("cpu")) == "cpu: Gluon has no interpreter"


def test_another_generation_of_gpu(hopper, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (10, 0))
    assert why_no_gluon(GPU) == "compute capability 10.0: the Gluon form is for 9.0"


@pytest.mark.parametrize("version", ["3.5.1", "3.7.0+git1", "4.0"])
def test_another_release_of_triton(hopper, monkeypatch, version):
    monkeypatch.setattr(triton, "__version__", version)
    assert why_no_gluon(GPU) == f"triton {version}: the Gluon form is for triton 3.6"


def test_importing_the_tasks_imports_neither_torch_nor_triton():
    code = (
        "import sys, headway.tasks, headway.tasks.kda, headway.tasks.mla, headway.tasks.mla_decode\n"
        "sys.exit(bool({'torch', 'triton', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_error_is_relative_and_nan_passes_no_bar():
    expected = torch.tensor([3.0, 4.0])
    assert relative_error(torch.tensor([3.0, 4.5]), expected) == pytest.approx(0.1)
    assert not relative_error(torch.tensor([3.0, float("nan")]), expected) < 1e9
