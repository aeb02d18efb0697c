"""The walls behind the static rules: a task that allows dangerous imports, and candidates that use them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.adapters.local_worker import LocalWorker
from headway.core.ports.worker import WorkerJob, WorkerResult
from tests.worker.tiny_task import tiny_task

GENEROUS = '"threading", "os", "sys", "ctypes", "time", "socket", "signal", "gc", "numpy"'


@pytest.fixture(scope="module")
def worker() -> Iterator[LocalWorker]:
    one = LocalWorker()
    yield one
    one.close()


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tiny_task(tmp_path_factory.mktemp("task") / "generous")
    toml = folder / "task.toml"
    toml.write_text(toml.read_text().replace('"numpy", "math"', f'{GENEROUS}, "math"'))
    return folder


def judged(worker: LocalWorker, task: Path, source: str, key: str) -> WorkerResult:
    worker.submit(WorkerJob(key, task, source, "full", seed=1, pairs=2))
    result = worker.collect(key, 60)
    assert result is not None
    return result


def entry(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import threading, os, sys, ctypes, time, socket, signal, gc\nimport numpy as np\n\ndef entry(x):\n{lines}"


RIGHT = "return x * 2 + 1"

FORBIDDEN = {
    "thread": f"threading.Thread(target=time.sleep, args=(9,)).start()\n{RIGHT}",
    "fork": f"os.fork()\n{RIGHT}",
    "connect": f"socket.socket()\n{RIGHT}",
    "kill the judge": f"os.kill(os.getppid(), 9)\n{RIGHT}",
    "list the disk": f"os.listdir('/')\n{RIGHT}",
    "frames": f"getattr(sys, '_getframe')(1)\n{RIGHT}",
    "profile": f"sys.setprofile(lambda *a: None)\n{RIGHT}",
    "objects": f"gc.get_objects()\n{RIGHT}",
    "library": f"ctypes.CDLL('libc.so.6')\n{RIGHT}",
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_the_guard_in_the_runner_sees_it(worker: LocalWorker, task: Path, name: str) -> None:
    source = entry(FORBIDDEN[name]).replace("ctypes, ", "" if name != "library" else "ctypes, ")
    result = judged(worker, task, source, f"guard-{name.replace(' ', '-')}")
    assert result.outcome == "refused", result
    assert result.refusal is not None
    assert result.refusal.code in ("banned_call", "left_running", "raised" if name == "thread" else ""), result.refusal


def test_catching_the_guards_error_does_not_help(worker: LocalWorker, task: Path) -> None:
    body = f"try:\n    os.listdir('/')\nexcept BaseException:\n    pass\n{RIGHT}"
    result = judged(worker, task, entry(body), "caught")
    assert result.refusal is not None and result.refusal.code == "banned_call"


def test_an_early_exit_is_no_success(worker: LocalWorker, task: Path) -> None:
    result = judged(worker, task, entry("getattr(os, '_exit')(0)"), "exit")
    assert result.refusal is not None and result.refusal.code == "protocol", result.refusal


def test_a_message_forged_on_the_channel_gains_nothing(worker: LocalWorker, task: Path) -> None:
    body = (
        "import numpy\n"
        'told = b\'{"error": null, "ns": [1], "outputs": [[]], "glimpses": [], "offences": []}\'\n'
        "os.write(3, len(told).to_bytes(4, 'little') + told)\n"
        f"{RIGHT}"
    )
    result = judged(worker, task, entry(body), "forged")
    assert result.outcome == "refused", result
    assert result.refusal is not None and result.refusal.code in ("protocol", "wrong_shape"), result.refusal


def test_garbage_on_the_channel_is_refused(worker: LocalWorker, task: Path) -> None:
    result = judged(worker, task, entry(f"os.write(3, b'\\xff' * 64)\n{RIGHT}"), "garbage")
    assert result.refusal is not None and result.refusal.code == "protocol", result.refusal


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_system_calls_of_native_code_meet_the_filter(worker: LocalWorker, tmp_path: Path) -> None:
    """Straight to the kernel, past Python: what would have reached out answers EPERM, and the result is right."""
    task = tiny_task(tmp_path / "tiny-c", "cpu-c")
    result = judged(worker, task, C_SYSCALLS, "c-syscalls")
    # `syscall` is refused by the library rule already; the layers are asked in test_sandbox
    assert result.refusal is not None and result.refusal.code == "banned_source"


C_SYSCALLS = """
long syscall(long number, ...);
void entry(int n, const float *x, float *y)
{
    long bad = syscall(57) != -1;
    for (int i = 0; i < n; i++) y[i] = x[i] * 2 + 1 + bad;
}
"""
