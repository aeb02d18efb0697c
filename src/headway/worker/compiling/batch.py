"""The compile job: every kernel on every architecture, a process each, and what came out as files.

JOB.json is a `headway.compile-job/1`; OUT gets `facts.json` (`headway.compile-result/1`) and, for each kernel and
architecture, Triton's PTX and TTGIR, ptxas' own words and the machine code as `cuobjdump -sass` lists it. It judges
nothing: `headway.core.fingerprint` reads the listings at home. A compiler that crashes takes one kernel with it.
Releases 3.2 to 3.9 of Triton were tried.
"""

import hashlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from typing import Any

from .inputs import CannotRun, NoDevice, NoTorch, argument, constant, first_line, load, telling

JOB, RESULT = "headway.compile-job/1", "headway.compile-result/1"
Facts = dict[str, Any]
DIAGNOSTICS = (r"(Assertion `.*' failed)", r"(?:[^\s/]*/)*([^\s/]+:\d+:\d+: error: .*)")
"""What a compiler says on stderr of why it gave up, without the folders of its or our sources."""
ENCODING = re.compile(r"\s*/\* 0x[0-9a-f]{16} \*/")
PROBE: Facts = {
    "name": "probe", "function": "probe", "constants": {"BLOCK": 128}, "options": {},
    "arguments": {"x": "*fp32", "y": "*fp32", "n": 1024},
}  # fmt: skip
PROBE_SOURCE = """
import triton
import triton.language as tl


@triton.jit
def probe(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n, other=0.0) + 1.0, mask=at < n)
"""
"""What every release compiles for every architecture that it knows: if this fails, the kernel is not to blame."""


def main(argv: list[str]) -> int:
    """Exit code 0 whenever `facts.json` was written."""
    with open(argv[0], encoding="utf-8") as file:
        job = json.load(file)
    assert job["schema"] == JOB, job["schema"]
    sys.path += [os.path.join(job["root"], one) for one in job["path"]]  # last: the triton under test stays itself
    out = os.path.abspath(argv[1])
    os.environ["TRITON_CACHE_DIR"] = os.path.join(out, "cache")
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # else the PTX holds the place of the source
    os.environ.pop("TRITON_INTERPRET", None)
    facts: dict[str, Any] = {"schema": RESULT, "toolchain": {}, "trouble": "", "kernels": []}
    try:
        facts["toolchain"] = toolchain()
    except CannotRun as trouble:
        facts["trouble"] = str(trouble)
    else:
        facts["kernels"] = Batch(job, out).run()
    with open(os.path.join(out, "facts.json"), "w", encoding="utf-8") as file:
        json.dump(facts, file, sort_keys=True, indent=1)
    return 0


def toolchain() -> dict[str, Any]:
    """What a fingerprint depends on. `key` is Triton's own digest of its sources and its compiler library."""
    try:
        import triton
    except Exception as trouble:
        raise CannotRun(f"triton cannot be imported: {type(trouble).__name__}: {str(trouble)[:200]}") from None
    bin_dir = tools()
    programs = {}
    for name in ("ptxas", "ptxas-blackwell", "cuobjdump"):
        path = os.path.join(bin_dir, name)
        if os.path.exists(path):
            said = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout
            found = re.search(r"V(\d+\.\d+\.\d+)", said)
            programs[name] = found[1] if found else "unknown"
    return {"triton": triton.__version__, "key": compiler_key(), "python": platform.python_version(),
            "programs": programs}  # fmt: skip


def tools() -> str:
    """The folder of Triton's ptxas and cuobjdump."""
    import triton

    return os.path.join(os.path.dirname(triton.__file__), "backends", "nvidia", "bin")


def compiler_key() -> str:
    """Asked once here, since it hashes hundreds of megabytes; the forks below inherit the answer."""
    import triton.compiler.compiler
    import triton.runtime.cache

    for module in (triton.runtime.cache, triton.compiler.compiler):
        if hasattr(module, "triton_key"):
            return hashlib.sha256(module.triton_key().encode()).hexdigest()[:16]
    return "unknown"


class Batch:
    """All kernels on all architectures, `jobs` at a time, each in a fork of this process."""

    def __init__(self, job: dict[str, Any], out: str) -> None:
        self._job, self._out = job, out
        self._seconds, self._jobs = float(job["seconds"]), max(1, int(job["jobs"]))

    def run(self) -> list[Facts]:
        work = [(kernel, arch) for kernel in self._job["kernels"] for arch in kernel["archs"]]
        results = self._all(work)
        doubtful = sorted({arch for (_, arch), one in zip(work, results, strict=True) if one["outcome"] == "failed"})
        if doubtful:
            with open(os.path.join(self._out, "probe.py"), "w", encoding="utf-8") as file:
                file.write(PROBE_SOURCE)
            probe = {**PROBE, "file": os.path.join(self._out, "probe.py")}
            probes = dict(zip(doubtful, self._all([(probe, arch) for arch in doubtful]), strict=True))
            results = [self._excused(one, probes.get(one["arch"])) for one in results]
        return results

    def _excused(self, result: Facts, probe: Facts | None) -> Facts:
        if result["outcome"] != "failed" or probe is None or probe["outcome"] == "compiled":
            return result
        message = f"this toolchain compiles nothing for sm_{result['arch']}: {probe['message']}"
        return {**result, "outcome": "could_not_run", "message": message}

    def _all(self, work: list[tuple[Facts, int]]) -> list[Facts]:
        results: list[Facts] = [{}] * len(work)
        running: dict[int, tuple[int, float]] = {}
        waiting = list(range(len(work)))[::-1]
        while waiting or running:
            while waiting and len(running) < self._jobs:
                place = waiting.pop()
                running[self._start(*work[place])] = (place, time.monotonic() + self._seconds)
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid in running:
                place, _ = running.pop(pid)
                results[place] = self._read(*work[place], status)
                continue
            for late in [one for one, (_, end) in running.items() if time.monotonic() > end]:
                os.killpg(late, signal.SIGKILL)
                os.waitpid(late, 0)
                place, _ = running.pop(late)
                results[place] = self._ended(*work[place], "failed", f"compiling took more than {self._seconds:g} s")
            time.sleep(0.01)
        return results

    def _start(self, kernel: Facts, arch: int) -> int:
        pid = os.fork()
        if pid:
            return pid
        os.setsid()
        stem = self._stem(kernel, arch)
        log = os.open(stem + ".log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o666)
        os.dup2(log, 1)
        os.dup2(log, 2)
        try:
            ended = One(kernel, arch, self._job["root"], stem).compile()
        except CannotRun as trouble:
            ended = {"outcome": "could_not_run", "message": str(trouble)[:500]}
        except BaseException as trouble:  # whatever a compiler raises is a finding about it
            ended = {"outcome": "failed", "message": self._with_diagnostic(first_line(trouble), stem)}
        with open(stem + ".json", "w", encoding="utf-8") as file:
            json.dump(ended, file)
        os._exit(0)

    def _with_diagnostic(self, message: str, stem: str) -> str:
        """MLIR says what is wrong on stderr only, with the whole path of the source."""
        with open(stem + ".log", encoding="utf-8", errors="replace") as file:
            said = file.read(200_000)
        found = next((one for pattern in DIAGNOSTICS if (one := re.search(pattern, said))), None)
        return f"{message}; {found[1]}"[:500] if found else message

    def _read(self, kernel: Facts, arch: int, status: int) -> Facts:
        try:
            with open(self._stem(kernel, arch) + ".json", encoding="utf-8") as file:
                return {"name": kernel["name"], "arch": arch, **json.load(file)}
        except (OSError, ValueError):
            how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit {os.WEXITSTATUS(status)}"
            with open(self._stem(kernel, arch) + ".log", encoding="utf-8", errors="replace") as file:
                said = telling(file.read()[-20000:])
            return self._ended(kernel, arch, "failed", f"the compiler died ({how}): {said}")

    def _ended(self, kernel: Facts, arch: int, outcome: str, message: str) -> Facts:
        return {"name": kernel["name"], "arch": arch, "outcome": outcome, "message": message[:500]}

    def _stem(self, kernel: Facts, arch: int) -> str:
        return os.path.join(self._out, f"{kernel['name']}.sm_{arch}")


class One:
    """One kernel on one architecture, in a process of its own."""

    def __init__(self, kernel: Facts, arch: int, root: str, stem: str) -> None:
        self._kernel, self._arch, self._root, self._stem = kernel, arch, root, stem
        self._words = ""

    def compile(self) -> Facts:
        self._listen_to_ptxas()
        function, stood_in = load(os.path.join(self._root, self._kernel["file"]), self._kernel["function"])
        compiled = self._warm_up(function)
        cubin = self._stem + ".cubin"
        with open(cubin, "wb") as file:
            file.write(compiled.asm["cubin"])
        self._keep("ptx", compiled.asm["ptx"])
        self._keep("ttgir", str(compiled.asm["ttgir"]))
        self._keep("ptxas", self._words)
        self._keep("sass", self._machine_code(cubin))
        metadata = compiled.metadata
        return {
            "outcome": "compiled", "message": "", "stood_in": stood_in,
            "shared": int(metadata.shared), "num_warps": int(metadata.num_warps),
        }  # fmt: skip

    def _warm_up(self, function: Any) -> Any:
        """As a launch would: Triton itself looks at the arguments and specialises on them."""
        from triton.runtime.driver import driver

        driver.set_active(NoDevice(self._arch))
        # Triton would import torch, seconds long, to know its tensors again: there are none
        sys.meta_path.insert(0, NoTorch())
        arguments = {name: argument(value) for name, value in self._kernel["arguments"].items()}
        constants = {name: constant(value) for name, value in self._kernel["constants"].items()}
        return function.warmup(grid=(1,), **arguments, **constants, **self._kernel["options"])

    def _listen_to_ptxas(self) -> None:
        """Keep what ptxas says to Triton: the very call that made the machine code, not a second one like it."""
        original = subprocess.run

        def run(argv: Any, *args: Any, **kwargs: Any) -> Any:
            done = original(argv, *args, **kwargs)
            if os.path.basename(str(argv[0])).startswith("ptxas") and hasattr(kwargs.get("stderr"), "name"):
                with open(kwargs["stderr"].name, encoding="utf-8", errors="replace") as said:
                    self._words = said.read()
            return done

        subprocess.run = run  # type: ignore[assignment]  # one process, one compilation, then it ends

    def _machine_code(self, cubin: str) -> str:
        program = os.path.join(tools(), "cuobjdump")
        if not os.path.exists(program):
            raise CannotRun("this toolchain has no cuobjdump, so its machine code cannot be read")
        listed = subprocess.run([program, "-sass", cubin], capture_output=True, text=True, check=False)
        if listed.returncode != 0 or "Function :" not in listed.stdout:
            raise CannotRun(f"cuobjdump cannot read the result: {(listed.stderr or listed.stdout).strip()[:200]}")
        lines = (ENCODING.sub("", line).rstrip() for line in listed.stdout.splitlines())
        return "\n".join(line for line in lines if line) + "\n"

    def _keep(self, kind: str, text: str) -> None:
        with open(f"{self._stem}.{kind}", "w", encoding="utf-8") as file:
            file.write(text)
