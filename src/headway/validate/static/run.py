"""Has a toolchain compile a list of kernels, in a process of its own, and reads what came out."""

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headway.core.fingerprint import Fingerprint, of_listings, opcodes
from headway.core.ports.executor import Command, Executor, Limits, Outcome
from headway.validate.reports import Damaged, read_regular_file
from headway.validate.static.listing import Compiled, Kernel, Side, Toolchain, digest

JOB, RESULT = "headway.compile-job/1", "headway.compile-result/1"
LISTINGS = ("ptx", "ttgir", "ptxas", "sass")
START_SECONDS = 120.0
PROBES = 8
"""Compilations that may come on top: one probe for each architecture that something fails on."""
OUT = "out"

Keep = Callable[[str, str], None]
"""Takes a file name and a listing."""


def compile_side(
    label: str,
    toolchain: Toolchain,
    root: Path,
    kernels: Sequence[Kernel],
    program: Path,
    executor: Executor,
    *,
    path: Sequence[str],
    seconds: float,
    jobs: int,
    env: Mapping[str, str],
    keep: Keep = lambda name, text: None,
) -> Side:
    """All kernels of the list under `root`, for all their architectures, by one toolchain.

    `path` are folders, relative to `root`, in which kernels' files find what they import. `program` is the folder of
    the worker's compile job; `seconds` is the limit of one compilation. What cannot be run is in the answer, with one
    sentence.
    """
    with tempfile.TemporaryDirectory(prefix="headway-static-") as folder:
        place = Path(folder)
        (place / OUT).mkdir()
        job = {
            "schema": JOB, "root": str(root), "path": list(path), "seconds": seconds, "jobs": jobs,
            "kernels": [_job_of(one) for one in kernels],
        }  # fmt: skip
        (place / "job.json").write_text(json.dumps(job))
        count = sum(len(one.archs) for one in kernels) + PROBES
        command = Command(
            argv=(toolchain.python, "-I", str(program), str(place / "job.json"), str(place / OUT)),
            cwd=place,
            limits=Limits(seconds=START_SECONDS + seconds * count / jobs),
            env={name: env[name] for name in ("PATH", "LANG", "LC_ALL") if name in env},
            writable=(place,),
        )
        facts = _facts(executor.run(command), place / OUT)
        if isinstance(facts, str):
            return _nothing(label, kernels, facts)
        try:
            return _side(label, facts, kernels, place / OUT, keep)
        except (KeyError, TypeError, ValueError, AttributeError) as fault:
            return _nothing(label, kernels, f"its compile job's result is damaged ({type(fault).__name__}: {fault})")


def _facts(outcome: Outcome, out: Path) -> dict[str, Any] | str:
    """What the job says of itself, or why it said nothing."""
    if outcome.not_started is not None:
        return f"its Python cannot be started: {outcome.not_started}"
    content = read_regular_file(out, out / "facts.json")
    try:
        facts: dict[str, Any] = {} if isinstance(content, Damaged) else json.loads(content)
        if facts.get("schema") == RESULT:
            return facts
    except (ValueError, AttributeError):
        pass
    how = "took too long" if outcome.timed_out else outcome.died or f"exit {outcome.exit}"
    said = outcome.output.decode("utf-8", "replace").strip().splitlines()[-1:]
    return f"its compile job left no result ({how}): {''.join(said)[:300]}"


def _nothing(label: str, kernels: Sequence[Kernel], trouble: str) -> Side:
    compiled = tuple(Compiled(one.name, arch, "could_not_run", trouble) for one in kernels for arch in one.archs)
    return Side(label, {}, trouble, compiled)


def _job_of(one: Kernel) -> dict[str, Any]:
    return {
        "name": one.name, "file": one.file, "function": one.function, "arguments": dict(one.arguments),
        "constants": dict(one.constants), "options": dict(one.options), "archs": list(one.archs),
    }  # fmt: skip


def _side(label: str, facts: Mapping[str, Any], kernels: Sequence[Kernel], out: Path, keep: Keep) -> Side:
    told = {(str(one["name"]), int(one["arch"])): one for one in facts["kernels"]}
    found = []
    for kernel in kernels:
        for arch in kernel.archs:
            one = told.get((kernel.name, arch))
            if facts["trouble"]:
                found.append(Compiled(kernel.name, arch, "could_not_run", str(facts["trouble"])))
            elif one is None:
                found.append(Compiled(kernel.name, arch, "could_not_run", "the compile job says nothing about it"))
            elif one["outcome"] in ("failed", "could_not_run"):
                found.append(Compiled(kernel.name, arch, one["outcome"], _without(str(one["message"]), out)))
            else:
                found.append(_compiled(kernel, arch, one, out, keep))
    return Side(label, dict(facts["toolchain"]), str(facts["trouble"]), tuple(found))


def _compiled(kernel: Kernel, arch: int, one: Mapping[str, Any], out: Path, keep: Keep) -> Compiled:
    texts = {kind: _read(out, f"{kernel.name}.sm_{arch}.{kind}") for kind in LISTINGS}
    for kind, text in texts.items():
        keep(f"{kernel.name}.sm_{arch}.{kind}", text)
    listed = of_listings(texts["ptxas"], texts["sass"])
    if len(listed) != 1 or "Used" not in texts["ptxas"]:
        what = f"{len(listed)} kernels" if len(listed) != 1 else "no word of ptxas about registers"
        return Compiled(kernel.name, arch, "could_not_run", f"its listings hold {what}")
    (found,) = listed
    # ptxas knows static shared memory only; Triton asks for its own at the launch
    shared = max(found.shared, int(one["shared"]))
    fingerprint = Fingerprint(
        kernel.name, found.registers, shared, found.stack, found.spill_stores, found.spill_loads,
        found.instructions, found.barriers,
    )  # fmt: skip
    (counts,) = opcodes(texts["sass"]).values()
    return Compiled(
        kernel.name, arch, "compiled", "", fingerprint, dict(counts), int(one["num_warps"]), digest(texts["ptx"]),
        digest(texts["sass"]), tuple(one["stood_in"]),
    )  # fmt: skip


def _read(out: Path, name: str) -> str:
    """A listing; "" where there is none. Never through a link: a kernel's file is a program, and could leave one."""
    content = read_regular_file(out, out / name)
    return "" if isinstance(content, Damaged) else content.decode("utf-8", "replace")


def _without(message: str, out: Path) -> str:
    """Without the name of a temporary folder, which differs from run to run."""
    return message.replace(str(out), "OUT")
