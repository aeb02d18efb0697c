"""The judge's hold on one runner process: start it, let it run only inside a bracket, look at it from outside.

Between two orders the runner is stopped by SIGSTOP, so it has no time that the judge's clock does not see, and what
it returned cannot change while it is read. Outputs are read out of its memory; it is not asked to copy them.
"""

import json
import mmap
import os
import pkgutil
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy

from .pool import Pool
from .refusals import CouldNotRun, Refused

START = (
    "import json,os,sys,types\n"
    "b=b''\n"
    "while (p:=os.pread(5,1<<20,len(b))): b+=p\n"
    "os.ftruncate(5,0)\n"
    "m={}\n"
    "for n,t in json.loads(b).items():\n"
    "    m[n]=types.ModuleType('runner_'+n); exec(compile(t,'<runner '+n+'>','exec'),m[n].__dict__)\n"
    "m['runner'].Runner(m['sandbox'],m['guard'],m.get('triton_runner'),m.get('device_runner'),m.get('draws'),"
    "m.get('tuners'),m.get('device_profile')).serve()\n"
)
PROGRAM = ("sandbox", "guard", "runner")
ANSWER_BYTES = 4 << 20
PINGS = 7
HIDDEN = ["/home", "/root", "/tmp", "/var/tmp", "/dev/shm", "/mnt", "/media", "/srv", "/run"]
"""Folders where people keep what a candidate must not see; each is covered by an empty file system."""
FIRST_UID, LAST_UID = 61184, 65519
"""The range that systemd sets aside for users that exist only while a process does."""


class Answer(NamedTuple):
    """What the runner said, and nanoseconds: `bracket` by the judge's clock, `cpu` on a core by the kernel's books."""

    said: dict[str, Any]
    bracket: int
    cpu: int


class Session:
    """One runner. `layers` are in force once `__init__` returns; every wait has a limit."""

    def __init__(self, number: int, triton: str = "") -> None:
        """Start the process; it imports numpy by itself while the judge does something else.

        `triton`: "" for CPU tasks, else `interpret`, `compile` or `device`: what Triton kernels are put through.
        """
        on_device = ("triton_runner", "tuners", "device_runner", "device_profile", "draws")
        more = {"": (), "device": on_device}.get(triton, ("triton_runner", "tuners"))
        program = (*PROGRAM, *more)
        self._framework, self._on_device = bool(triton), triton == "device"
        self._scratch = tempfile.mkdtemp(prefix="headway-scratch-") if self._on_device else ""
        self.pool = Pool()
        self.output = bytearray()
        self.output_limit = 1 << 16
        self.layers: list[str] = []
        self.uid: int | None = None
        self._number = number
        self._code = os.memfd_create("program", 0)
        os.write(self._code, json.dumps({name: _text(name) for name in program}).encode())
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        self._words, words = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-u", "-c", _descriptors(answers, self.pool.handle, self._code) + START],
            stdin=orders, stdout=words, stderr=words, pass_fds=(answers, self.pool.handle, self._code),
            env={**_environment(), **self._way(triton)}, cwd="/",
            start_new_session=True,
        )  # fmt: skip
        for handle in (orders, answers, words):
            os.close(handle)
        self.pid = self._process.pid
        self._ended: int | None = None

    def enter(self, preload: list[str]) -> None:
        """Close the sandbox around it. Raises CouldNotRun if the judge cannot look into it afterwards."""
        root = os.geteuid() == 0
        uid = FIRST_UID + self._number % (LAST_UID - FIRST_UID) if root else None
        if self._on_device and not _others_may_read(sys.prefix):
            uid = None
        self.uid = uid
        # frameworks read their own files late; everything else was loaded before
        readable = [sys.prefix, sys.base_prefix, "/usr", "/lib", "/lib64"] if self._framework else []
        hidden = [one for one in HIDDEN if not any(place.startswith(one) for place in readable)]
        if self._on_device:
            readable += ["/etc", "/proc", "/sys", "/dev", "/opt", *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
            hidden = [one for one in hidden if not self._scratch.startswith(one)]
        plan = {"uid": uid, "threads": self._on_device, "readable": readable, "hidden": hidden,
                "writable": self._writable(), "programs": self._on_device}  # fmt: skip
        said = self.order({"do": "enter", "plan": plan, "preload": preload}, 180).said
        self.layers = said["layers"]
        if self.peek(said["address"], len(said["proof"]) // 2).hex() != said["proof"]:
            raise CouldNotRun(
                "infrastructure", "The judge cannot read its runner's memory.", "Allow ptrace of children."
            )
        self.layers.append("stopped-between-calls")
        self.threads = self._threads()
        self.overhead = self._overhead()

    def seal(self) -> None:
        """Nothing may be started in the runner any more. Refuses a candidate that left something running before."""
        said = self.order({"do": "seal"}, 10).said
        if not said.get("sealed"):
            raise CouldNotRun("infrastructure", "The second system call filter was refused.", "See `--doctor`.")
        self.layers.append("sealed-after-compile")
        self.check(said, "before it was measured")

    @property
    def cache(self) -> Path:
        """Where Triton keeps what it compiles in this runner."""
        return Path(self._scratch) / str(FIRST_UID + self._number % (LAST_UID - FIRST_UID))

    def _writable(self) -> list[str]:
        """Nothing for CPU candidates; a GPU's driver opens its devices again, and Triton keeps what it built."""
        if not self._on_device:
            return []
        return [self._scratch, "/dev/null", *(f"/dev/{one}" for one in os.listdir("/dev") if one.startswith("nvidia"))]

    def _way(self, triton: str) -> dict[str, str]:
        """What differs between the ways a Triton kernel goes; the same for correctness and timing."""
        way = {"TRITON_INTERPRET": "1" if triton == "interpret" else "0"}
        if self._on_device:
            if os.geteuid() == 0:
                os.chmod(self._scratch, 0o777)
            path = os.environ.get("PATH", "/usr/bin:/bin")
            libraries = os.environ.get("LD_LIBRARY_PATH", "")
            way |= {"HOME": self._scratch, "TMPDIR": self._scratch, "TRITON_CACHE_DIR": str(self.cache),
                    "PATH": path, "LD_LIBRARY_PATH": libraries, "CUDA_VISIBLE_DEVICES": _first_device()}  # fmt: skip
        return way

    def _overhead(self) -> int:
        """Core nanoseconds of a call of nothing, with caches as cold as they are after the judge made inputs."""
        other = numpy.zeros(1 << 20)
        took = [self.call({"do": "ping"}, lambda: other.fill(1), 10) for _ in range(PINGS)]
        return int(median(one.cpu - int(one.said["ns"][0]) for one in took))

    def load(self, job: dict[str, Any], library: bytes | None, pool_bytes: int, memory: int, seconds: float) -> None:
        """Bring the candidate in; refuses what it did at import. `job`: the other arguments of `Runner.load`."""
        self.pool.resize(pool_bytes)
        if library is not None:
            os.pwrite(self._code, library, 0)
        with open(f"/proc/{self.pid}/statm") as numbers:
            memory += int(numbers.read().split()[0]) * mmap.PAGESIZE + self.pool.size
        if self._on_device:
            memory = 0  # a CUDA driver reserves terabytes of addresses; device memory has limits of its own
        said = self.order({"do": "load", "pool": self.pool.size, "memory": memory, **job}, seconds).said
        self.check(said, "while it was loaded")

    def call(self, order: dict[str, Any], lay: Callable[[], None], seconds: float, staged: bool = False) -> Answer:
        """An order in two steps: the runner makes ready and is stopped, `lay` writes the inputs, the bracket opens."""
        if not self.order(order, seconds).said.get("ready"):
            raise Refused("protocol", "The runner did not make ready.", "Write to nothing but what you return.")
        lay()
        if staged and not self._bracket(b"!", seconds).said.get("ready"):  # the runner takes the inputs to its device
            raise Refused("protocol", "The runner did not make ready.", "Write to nothing but what you return.")
        return self._bracket(b"!", seconds)

    def order(self, order: dict[str, Any], seconds: float) -> Answer:
        """Continue the runner, give it one order, take its answer, stop it again."""
        body = json.dumps(order).encode()
        return self._bracket(len(body).to_bytes(4, "little") + body, seconds)

    def _bracket(self, data: bytes, seconds: float) -> Answer:
        before = self._cpu()
        start = time.perf_counter_ns()
        self._signal(signal.SIGCONT)
        answer, end = self._exchange(data, start + int(seconds * 1e9))
        self._stop()
        cpu = min(self._cpu() - before, end - start)
        try:
            said = json.loads(answer)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            raise Refused("protocol", "The runner's answer is not an answer.", "Write to nothing but what you return.")
        return Answer(said, end - start, cpu if cpu > 0 else end - start)

    def _exchange(self, data: bytes, deadline: int) -> tuple[bytes, int]:
        answer = b""
        while True:
            left = (deadline - time.perf_counter_ns()) / 1e9
            writes = [self._orders] if data else []
            ready, writable, _ = select.select([self._answers, self._words], writes, [], max(left, 0))
            now = time.perf_counter_ns()
            if writable:
                data = data[self._write(data) :]
            if self._words in ready:
                self._listen()
            if self._answers in ready:
                part = os.read(self._answers, 1 << 16)
                if not part:
                    raise self._gone()
                answer += part
                length = int.from_bytes(answer[:4], "little")
                if 4 <= length + 4 <= len(answer):
                    return answer[4:], now
                if length > ANSWER_BYTES or len(answer) > ANSWER_BYTES:
                    raise Refused(
                        "protocol", "The runner's answer has no end.", "Write to nothing but what you return."
                    )
            elif not ready and not writable and left <= 0:
                raise Refused("timed_out", "The candidate did not return within its limit.", "Make it end.")

    def _write(self, data: bytes) -> int:
        try:
            return os.write(self._orders, data[:4096])  # at most one pipe page: never blocks when select said writable
        except BrokenPipeError:
            raise self._gone() from None

    def _listen(self) -> None:
        """Take in what the candidate printed; head kept, never parsed."""
        part = os.read(self._words, 1 << 16)
        self.output += part
        if len(self.output) > self.output_limit:
            raise Refused(
                "output_limit", f"The candidate printed more than {self.output_limit} bytes.", "Print nothing."
            )

    def _gone(self) -> Exception:
        code = self._reap()
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            return Refused("died", f"The candidate's process was ended by {name}.", "Look for a bad pointer or index.")
        return Refused("protocol", f"The candidate ended its process (exit {code}).", "Return; do not exit.")

    def _signal(self, number: int) -> None:
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            raise self._gone() from None

    def _cpu(self) -> int:
        """Nanoseconds the process was on a core so far, by the kernel's books; 0 where it keeps none."""
        try:
            with open(f"/proc/{self.pid}/schedstat") as numbers:
                return int(numbers.read().split()[0])
        except (OSError, ValueError, IndexError):
            return 0

    def _stop(self) -> None:
        self._signal(signal.SIGSTOP)
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            self._ended = os.waitstatus_to_exitcode(status)

    def _reap(self) -> int | None:
        if self._ended is None:
            _, status = os.waitpid(self.pid, 0)
            self._ended = os.waitstatus_to_exitcode(status)
        self._process.returncode = self._ended
        return self._ended

    def check(self, said: dict[str, Any], when: str) -> None:
        """Refuse what the runner's tripwires saw, what it raised, and what it left running."""
        offences = said.get("offences") or []
        if offences:
            code = "banned_import" if str(offences[0]).startswith("import") else "banned_call"
            raise Refused(code, f"The candidate tried {str(offences[0])[:120]} {when}.", "Use what the task allows.")
        if late := said.get("late"):
            message = f"The autotuner of {str(late[0])[:80]} chooses again {when}, for a call like those before."
            raise Refused("tuned_late", message, "Key it on sizes alone, and leave its cache alone.")
        if error := said.get("error"):
            kind, line = str(error.get("type"))[:60], error.get("line")
            code = (
                "syntax"
                if kind == "SyntaxError"
                else "no_entry"
                if when.startswith("while") and kind == "KeyError"
                else "raised"
            )
            message = f"{kind}: {str(error.get('message'))[:400]} (line {line}) {when}."
            raise Refused(code, message, "Run it on one small case yourself.")
        threads = self.threads if self._on_device else self._threads()  # a CUDA driver makes threads when it likes
        if threads != self.threads or self._children():
            left = f"{threads - self.threads} threads" if threads != self.threads else "a process"
            raise Refused("left_running", f"The candidate left {left} running {when}.", "Finish before you return.")

    def peek(self, address: int, size: int) -> bytes:
        """Bytes of the stopped runner's memory."""
        try:
            with open(f"/proc/{self.pid}/mem", "rb", buffering=0) as memory:
                memory.seek(address)
                parts = b""
                while len(parts) < size and (part := memory.read(size - len(parts))):
                    parts += part
                return parts
        except (OSError, ValueError, OverflowError):
            return b""

    def returned(self, told: dict[str, Any]) -> Any:
        """A returned array, read from the runner's memory; refuses what is no plain array or lies in the inputs."""
        if not told.get("plain"):
            raise Refused("output_type", f"It returned {str(told.get('type'))[:80]}, not a plain numpy array.",
                          "Return numpy.ndarray itself.")  # fmt: skip
        shape, strides, dtype = told["shape"], told["strides"], numpy.dtype(told["dtype"])
        if dtype.hasobject or len(shape) != len(strides):
            raise Refused("output_type", f"It returned an array of {dtype}.", "Return the type of the signature.")
        if 0 in shape:
            return numpy.empty(shape, dtype)
        low = sum(min(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True))
        high = sum(max(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
        size = int(numpy.prod(shape)) * dtype.itemsize
        if high - low > 16 * size + (1 << 20):
            raise Refused(
                "wrong_shape", "The returned array is a thin view of a huge one.", "Return a contiguous copy."
            )
        start, end = told["address"] + low, told["address"] + high
        if any(a < end and start < b for a, b in self._pool_places()):
            raise Refused("output_aliases", "The returned array shares memory with an input.", "Return a new array.")
        data = self.peek(start, high - low)
        if len(data) != high - low:
            raise Refused("protocol", "The returned array is not in the candidate's memory.", "Return a real array.")
        return numpy.ndarray(tuple(shape), dtype=dtype, buffer=data, offset=-low, strides=tuple(strides))

    def _pool_places(self) -> list[tuple[int, int]]:
        with open(f"/proc/{self.pid}/maps") as maps:
            lines = [line.split(None, 5) for line in maps if "/memfd:inputs" in line]
        return [(int(line[0].split("-")[0], 16), int(line[0].split("-")[1], 16)) for line in lines]

    def _threads(self) -> int:
        try:
            return len(os.listdir(f"/proc/{self.pid}/task"))
        except FileNotFoundError:
            raise self._gone() from None

    def _children(self) -> bool:
        try:
            with open(f"/proc/{self.pid}/task/{self.pid}/children") as children:
                return bool(children.read().strip())
        except OSError:
            return False

    def close(self) -> None:
        """End the runner; nothing of it stays."""
        if self._ended is None:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self._reap()
        for handle in (self._orders, self._answers, self._words, self._code):
            try:
                os.close(handle)
            except OSError:
                pass
        self.pool.close()
        if self._scratch:
            shutil.rmtree(self._scratch, ignore_errors=True)


def _first_device() -> str:
    return os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0] or "0"


def _others_may_read(path: str) -> bool:
    """May another user reach this folder? Root's own Python often lies where nobody else may look."""
    while path not in ("", "/"):
        if os.stat(path).st_mode & 0o005 != 0o005:
            return False
        path = os.path.dirname(path)
    return True


def _text(name: str) -> str:
    data = pkgutil.get_data(__package__, f"{name}.py")
    if data is None:
        raise CouldNotRun("infrastructure", f"The worker is incomplete: {name}.py is missing.", "Pack it again.")
    return data.decode()


def _descriptors(answers: int, pool: int, code: int) -> str:
    """Python that moves inherited descriptors to the numbers the runner knows them by, without treading on any."""
    return (
        "import os,fcntl\n"
        f"a,p,c=[fcntl.fcntl(f,fcntl.F_DUPFD,20) for f in ({answers},{pool},{code})]\n"
        f"[os.close(f) for f in ({answers},{pool},{code})]\n"
        "[(os.dup2(f,t,True),os.close(f)) for f,t in ((a,3),(p,4),(c,5))]\n"
    )


def _environment() -> dict[str, str]:
    """The same few variables on every machine and in every phase: nothing to sniff, one thread of BLAS."""
    single = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    return {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8", "TMPDIR": "/nonexistent", **single}
