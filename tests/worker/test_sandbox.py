"""Each layer of the sandbox, asked from inside a closed process: what it stops, and that ordinary work goes on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WORKER = Path(__file__).parents[2] / "src" / "headway" / "worker"

PROBE = """
import json, os, sys, ctypes, socket, importlib.util
spec = importlib.util.spec_from_file_location("sandbox", sys.argv[1])
sandbox = importlib.util.module_from_spec(spec); spec.loader.exec_module(sandbox)
uid = 61190 if os.geteuid() == 0 else None
parent = os.getppid()
layers = sandbox.enter(sandbox.Plan(uid, False, (), (), ("/tmp",)))
libc = ctypes.CDLL(None, use_errno=True)
def tried(action):
    try:
        return str(action())
    except OSError as e:
        return type(e).__name__
def call(number, *a):
    answer = libc.syscall(number, *a)
    return answer if answer != -1 else "errno %d" % ctypes.get_errno()
found = {
    "layers": layers,
    "read": tried(lambda: open("/etc/passwd").read(1)),
    "write": tried(lambda: open("/tmp/x", "w")),
    "socket": tried(socket.socket),
    "fork": tried(os.fork),
    "signal": tried(lambda: os.kill(parent, 0)),
    "own signal": tried(lambda: os.kill(os.getpid(), 0)),
    "exec": tried(lambda: os.execv("/bin/true", ["true"])),
    "ptrace": tried(lambda: call(101, 16, parent, 0, 0)),
    "memory": tried(lambda: open("/proc/%d/mem" % parent, "rb").read(1)),
    "io_uring": tried(lambda: call(425, 1, 0)),
    "root again": tried(lambda: os.setuid(0)) if uid else "PermissionError",
    "sum": sum(range(10)),
}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found() -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", PROBE, str(WORKER / "sandbox.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_what_reaches_out_is_refused(found: dict[str, object]) -> None:
    layers = found["layers"]
    assert isinstance(layers, list)
    if not any(layer.startswith("landlock") for layer in layers) or "seccomp" not in layers:
        pytest.skip(f"this kernel grants only {', '.join(layers)}")
    for name in ("read", "write", "socket", "fork", "exec", "memory", "root again", "signal"):
        assert found[name] == "PermissionError", (name, found[name])
    if os.uname().machine == "x86_64":
        assert found["ptrace"] == "errno 1"
        assert found["io_uring"] == "errno 1"


def test_ordinary_work_goes_on(found: dict[str, object]) -> None:
    assert found["sum"] == 45
    assert found["own signal"] == "None"


def test_a_root_process_becomes_someone_else(found: dict[str, object]) -> None:
    if os.geteuid() != 0:
        pytest.skip("the tests do not run as root")
    assert "other-user" in str(found["layers"])
    assert "private-mounts" in str(found["layers"])
