"""The real executor, in every mix of layers: nothing outlives a command, leaks into it, or gets out of it."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headway.adapters.local_executor import LocalExecutor
from headway.core.ports.executor import Command, Limits, Outcome

EVERY_LAYER = LocalExecutor()
LAYERS = EVERY_LAYER.layers().names
needs = {name: pytest.mark.skipif(name not in LAYERS, reason=f"this kernel allows no {name}") for name in
         ("namespaces", "landlock", "seccomp", "no-capabilities")}  # fmt: skip
BARE = LocalExecutor(layers=frozenset())
MIXES = [pytest.param(BARE, id="no-layers"), pytest.param(EVERY_LAYER, id="every-layer"),
         pytest.param(LocalExecutor(layers=frozenset({"landlock", "seccomp"})), id="unprivileged")]  # fmt: skip


def sh(executor: LocalExecutor, cwd: Path, line: str, seconds: float = 20, **more: object) -> Outcome:
    limits = more.pop("limits", Limits(seconds=seconds, output_bytes=1 << 16))
    env = {"PATH": os.environ["PATH"], **more.pop("env", {})}  # type: ignore[dict-item]
    return executor.run(Command(("sh", "-c", line), cwd, limits, env=env, writable=(cwd,), **more))  # type: ignore[arg-type]


def python(executor: LocalExecutor, cwd: Path, code: str, **more: object) -> Outcome:
    (cwd / "code.py").write_text(code)
    return sh(executor, cwd, f"{sys.executable} -S code.py", **more)  # type: ignore[arg-type]


def alive(marker: str) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if marker in line and state != "Z":
                found.append(line)
    return found


@pytest.mark.parametrize("executor", MIXES)
def test_the_whole_tree_ends_at_the_time_limit(executor: LocalExecutor, tmp_path: Path) -> None:
    """Children that ignore SIGTERM, children in a session of their own, and a double-forked daemon."""
    marker = f"7{time.time_ns() % 10**8}"
    daemon = f"(setsid sh -c 'sleep {marker} &' &)"
    line = f"trap '' TERM; (trap '' TERM; sleep {marker}) & setsid sleep {marker} & {daemon}; wait"
    outcome = sh(executor, tmp_path, line, seconds=0.5)
    assert outcome.timed_out and outcome.resources.wall_seconds < 5
    assert alive(marker) == []


@pytest.mark.parametrize("executor", MIXES)
def test_a_daemon_does_not_outlive_a_command_that_ended_well(executor: LocalExecutor, tmp_path: Path) -> None:
    marker = f"8{time.time_ns() % 10**8}"
    outcome = sh(executor, tmp_path, f"(setsid sh -c 'sleep {marker} & sleep {marker}' >/dev/null 2>&1 &); echo done")
    assert (outcome.exit, outcome.output) == (0, b"done\n")
    assert alive(marker) == []


def test_the_tree_ends_when_headway_is_killed(tmp_path: Path) -> None:
    marker = f"9{time.time_ns() % 10**8}"
    program = (
        "import sys; from pathlib import Path; from headway.adapters.local_executor import LocalExecutor\n"
        "from headway.core.ports.executor import Command, Limits\n"
        f"LocalExecutor().run(Command(('sh', '-c', 'setsid sleep {marker} & sleep {marker}'), Path('/'), Limits(60),"
        f" env={{'PATH': {os.environ['PATH']!r}}}))"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    wait_for(lambda: len(alive(f"sleep {marker}")) >= 2)
    child.kill()
    child.wait()
    wait_for(lambda: alive(marker) == [])


def wait_for(condition: object, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def test_a_gigabyte_of_output_fills_neither_memory_nor_disk(tmp_path: Path) -> None:
    import resource

    before, free = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, shutil.disk_usage(tmp_path).free
    outcome = sh(EVERY_LAYER, tmp_path, "head -c 1000000000 /dev/zero; echo; echo the end", seconds=60)
    assert outcome.exit == 0 and outcome.truncated and outcome.output.endswith(b"the end\n")
    assert len(outcome.output) < (1 << 16) + 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, "KiB"
    assert free - shutil.disk_usage(tmp_path).free < 500_000_000


@pytest.mark.parametrize("executor", MIXES)
def test_the_environment_is_what_was_allowed_and_a_home_of_its_own(
    executor: LocalExecutor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "ghp_verysecret")
    outcome = sh(executor, tmp_path, "env; cat /proc/$PPID/environ; pwd; ls -A $HOME $TMPDIR")
    assert b"verysecret" not in outcome.output
    shown = dict(
        line.partition("=")[::2] for line in outcome.output.decode("utf-8", "replace").splitlines() if "=" in line
    )
    assert shown["HOME"] != os.environ["HOME"] and not Path(shown["HOME"]).exists(), "gone afterwards"
    assert shown["TMPDIR"].startswith(str(Path(shown["HOME"]).parent))


@needs["landlock"]
def test_secrets_in_the_owners_home_cannot_be_read(tmp_path: Path) -> None:
    home, work = tmp_path / "home", tmp_path / "home/src/clone"
    for name in (".netrc", ".gitconfig", ".ssh/id_ed25519", ".config/gh/hosts.yml", ".cargo/credentials.toml"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("hunter2")
    (home / ".cargo/bin").mkdir()
    (home / ".cargo/bin/tool").write_text("#!/bin/sh\necho tool runs\n")
    (home / ".cargo/bin/tool").chmod(0o755)
    work.mkdir(parents=True)
    (home / "src/open").write_text("readable")
    executor = LocalExecutor(homes=(home,))
    read = (
        f"cat {home}/.netrc {home}/.gitconfig {home}/.ssh/* {home}/.config/gh/hosts.yml {home}/.cargo/credentials.toml"
    )
    outcome = sh(executor, work, f"{read}; cat {home}/src/open; tool", env={"PATH": f"{home}/.cargo/bin:/usr/bin:/bin"})
    assert b"hunter2" not in outcome.output
    assert b"readable" in outcome.output and b"tool runs" in outcome.output


@needs["landlock"]
def test_only_its_own_folders_can_be_written(tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    (other / "kept").write_text("kept")
    line = (
        f"echo x > {other}/new; rm {other}/kept; echo y > {other}/kept; mkdir {other}/d; ln {other}/kept linked;"
        f" mv {other}/kept moved; ln -s {other} link; echo z > link/kept; echo ok > mine; echo ok > $TMPDIR/t; cat mine"
    )
    outcome = sh(EVERY_LAYER, work, line)
    assert outcome.output.endswith(b"ok\n")
    assert [path.name for path in other.iterdir()] == ["kept"] and (other / "kept").read_text() == "kept"


@needs["landlock"]
def test_hidden_folders_are_closed_but_for_named_parts(tmp_path: Path) -> None:
    work, secret = tmp_path / "work", tmp_path / "owner/.git"
    work.mkdir()
    (secret / "objects").mkdir(parents=True)
    (secret / "objects/pack").write_text("borrowed")
    (secret / "config").write_text("https://me:hunter2@example.org")
    (secret.parent / "file").write_text("work tree")
    line = f"cat {secret}/config; cat {secret}/objects/pack {secret.parent}/file; ls {secret}"
    outcome = sh(EVERY_LAYER, work, line, hidden=(secret,), readable_inside=(secret / "objects",))
    assert b"hunter2" not in outcome.output and b"borrowed" in outcome.output and b"work tree" in outcome.output


@needs["landlock"]
def test_a_list_of_readable_folders_closes_the_rest(tmp_path: Path) -> None:
    work, given, other = tmp_path / "work", tmp_path / "given", tmp_path / "other"
    for folder in (work, given, other):
        folder.mkdir()
        (folder / "file").write_text(f"in {folder.name}")
    outcome = sh(EVERY_LAYER, work, f"cat {given}/file {other}/file", readable=(given,))
    assert b"in given" in outcome.output and b"in other" not in outcome.output


@pytest.mark.parametrize("executor", MIXES[1:])
def test_the_network_is_off_unless_asked_for(executor: LocalExecutor, tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket\nsocket.create_connection(('127.0.0.1', {port}), 2)\nprint('connected')"
        closed = python(executor, tmp_path, code)
        assert b"connected" not in closed.output and "no-network" in closed.sandbox
        opened = python(executor, tmp_path, code, network=True)
        assert b"connected" in opened.output and "no-network" not in opened.sandbox


@needs["namespaces"]
def test_tests_may_still_talk_to_themselves(tmp_path: Path) -> None:
    code = (
        "import socket\nserver = socket.create_server(('127.0.0.1', 0))\n"
        "socket.create_connection(server.getsockname(), 2)\nprint('self')"
    )
    assert python(EVERY_LAYER, tmp_path, code).output == b"self\n"


@pytest.mark.parametrize("executor", MIXES[1:])
def test_calls_that_reach_out_of_a_sandbox_are_refused(executor: LocalExecutor, tmp_path: Path) -> None:
    code = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *args):
    result = getattr(libc, name)(*args)
    print(name, "allowed" if result >= 0 else os.strerror(ctypes.get_errno()))
call("ptrace", 16, os.getppid(), 0, 0)
call("mount", b"none", b"/tmp", b"tmpfs", 0, None)
call("unshare", 0x10000000)
call("syscall", 250, 0, 0)
call("syscall", 321, 0, 0, 0)
try:
    os.kill(1, 0); os.kill(os.getppid(), 9); print("kill allowed")
except OSError as refused:
    print("kill", refused)
"""
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers above are those of x86_64")
    outcome = python(executor, tmp_path, code)
    assert b"allowed" not in outcome.output.replace(b"Operation not permitted", b""), outcome.output
    assert outcome.output.count(b"Operation not permitted") >= 5


@needs["no-capabilities"]
def test_root_is_an_ordinary_user_inside(tmp_path: Path) -> None:
    outcome = sh(EVERY_LAYER, tmp_path, "grep Cap /proc/self/status | grep -v CapInh")
    assert set(outcome.output.decode().split()[1::2]) == {"0" * 16}


def test_resources_are_measured(tmp_path: Path) -> None:
    code = "x = bytearray(200 << 20)\nn = 0\nwhile n < 3_000_000: n += 1"
    used = python(EVERY_LAYER, tmp_path, code).resources
    assert used.peak_bytes > 200 << 20 and used.user_seconds > 0.02 and used.wall_seconds >= used.user_seconds / 2


def test_memory_and_file_limits_hold(tmp_path: Path) -> None:
    limits = Limits(seconds=20, output_bytes=1 << 16, memory_bytes=512 << 20, file_bytes=1 << 20)
    big = python(EVERY_LAYER, tmp_path, "x = bytearray(1 << 30)", limits=limits)
    assert big.exit == 1 and b"MemoryError" in big.output
    file = sh(EVERY_LAYER, tmp_path, "head -c 5000000 /dev/zero > big", limits=limits)
    assert file.exit != 0 and (tmp_path / "big").stat().st_size == 1 << 20


@pytest.mark.parametrize("executor", MIXES)
def test_a_swarm_of_processes_is_ended(executor: LocalExecutor, tmp_path: Path) -> None:
    marker = f"6{time.time_ns() % 10**8}"
    limits = Limits(seconds=60, output_bytes=1 << 16, processes=40)
    outcome = sh(executor, tmp_path, f"for i in $(seq 100); do sleep {marker} & done; wait", limits=limits)
    assert outcome.died == "SIGKILL" and b"too many processes" in outcome.output and alive(marker) == []


def test_missing_layers_are_named_with_their_reason(tmp_path: Path) -> None:
    layers = LocalExecutor(layers=frozenset({"seccomp"})).layers()
    assert layers.missing.get("landlock")
    assert sh(BARE, tmp_path, "true").sandbox == ("rlimits", "own-home")


def test_a_folder_that_is_not_there_did_not_start(tmp_path: Path) -> None:
    outcome = EVERY_LAYER.run(Command(("true",), tmp_path / "gone", Limits(5), env={"PATH": os.environ["PATH"]}))
    assert outcome.exit is None and outcome.not_started == f"{tmp_path}/gone: No such file or directory"


def test_input_is_given(tmp_path: Path) -> None:
    command = Command(("cat",), tmp_path, Limits(5), env={"PATH": os.environ["PATH"]}, stdin=b"x" * 200_000)
    assert EVERY_LAYER.run(command).output == b"x" * 200_000


def test_an_unreadable_scratch_folder_is_removed_all_the_same(tmp_path: Path) -> None:
    outcome = sh(
        EVERY_LAYER,
        tmp_path,
        'mkdir -p "$TMPDIR/a/b"; echo x > "$TMPDIR/a/b/c"; chmod 0 "$TMPDIR/a/b" "$TMPDIR/a"; echo $TMPDIR',
    )
    assert not Path(outcome.output.decode().strip()).exists()
