"""Time `kda_forward` against FLA or FlashKDA on one GPU, each in a process of its own, in turns.

    python -m headway.tasks.kda.measure --shapes 1x8192x64 4x2048x16 --regimes registry slow --out kda.json

For every regime both are first held against the float64 recurrence (1024 tokens, 8 heads, with an initial state), and
nothing is timed whose error is beyond 1.5 times the other side's.  Then they take turns, ABBA, over two sets of inputs.
GPU time: events around one call, launched behind a kernel that sleeps, so that the launch itself is hidden.
Eager time: calls back to back on an idle GPU, wall clock over their number.  All samples are kept.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.tasks.rows import Row, could_not_run, interval, line, row

Result = dict[str, Any]
ERROR_RATIO = 1.5
FLA_ERRORS = {  # FLA 0.6.0 on an H200, the cases of `_errors`; raw gates lie around the strong ones
    "registry": {"o": 0.0041, "state": 0.0032},
    "strong": {"o": 0.0040, "state": 0.0027},
    "slow": {"o": 0.0047, "state": 0.0042},
    "mixed": {"o": 0.0046, "state": 0.0040},
    "similar": {"o": 0.0103, "state": 0.0291},
}
SHAPES = ("1x8192x64", "1x8192x96", "4x8192x32", "4x4096x64", "1x32768x32", "2x16384x16", "4x2048x16")
REGIMES = ("registry", "strong", "slow", "mixed")
SIDES = {
    "headway": ("forward", "kda_forward"),
    "fla": ("baseline", "fla_forward"),
    "flashkda": ("baseline", "flash_kda_forward"),
}


# ---- the worker: one side, one process


def _options(raw: bool) -> dict[str, Any]:
    return {"raw_gates": True, "beta_logit": True} if raw else {}


def _calls(forward: Callable[..., Any], shape: Sequence[int], regime: str, raw: bool) -> list[Callable[[], Any]]:
    """One call for each of two sets of inputs, drawn alike on both sides."""
    from .cases import make_case

    batch, tokens, heads = shape
    options = _options(raw)

    def call(seed: int) -> Callable[[], Any]:
        case = make_case(batch, tokens, heads, regime, seed, device="cuda", with_state=False)
        return lambda: forward(*case[:5], **options)

    return [call(seed) for seed in (1, 2)]


def _errors(forward: Callable[..., Any], regime: str, raw: bool) -> dict[str, float]:
    import torch

    from .cases import make_case
    from .reference import kda_reference, log_gates, relative_error

    # the regime "similar" is no gate regime: nearly equal keys, rewritten fully, with slow gates
    similar = 0.95 if regime == "similar" else 0.0
    case = make_case(1, 1024, 8, "slow" if similar else regime, 3, device="cuda", similar_keys=similar)
    o, state = forward(*case[:5], initial_state=case.initial_state, **_options(raw))
    gates, beta = (log_gates(case.g, lower_bound=-5.0), torch.sigmoid(case.beta.double())) if raw else case[3:5]
    expected_o, expected_state = kda_reference(*case[:3], gates, beta, initial_state=case.initial_state)
    return {"o": relative_error(o, expected_o), "state": relative_error(state, expected_state)}


def _gpu_samples(calls: list[Callable[[], Any]], count: int) -> list[float]:
    """Milliseconds of single calls."""
    import torch

    cuda: Any = torch.cuda
    samples = []
    for n in range(count):
        start, end = (cuda.Event(enable_timing=True) for _ in range(2))
        cuda._sleep(4_000_000)  # about two milliseconds: longer than the launches take
        start.record()
        calls[n % len(calls)]()
        end.record()
        cuda.synchronize()
        samples.append(start.elapsed_time(end))
    return samples


def _eager_sample(calls: list[Callable[[], Any]], count: int) -> float:
    """Milliseconds a call, back to back."""
    import torch

    torch.cuda.synchronize()
    start = time.perf_counter()
    for n in range(count):
        calls[n % len(calls)]()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / count * 1e3


def _serve(side: str) -> None:
    """Answer one JSON request a line."""
    import torch

    home, name = SIDES[side]
    forward = getattr(importlib.import_module(f"{__package__}.{home}"), name)
    calls: list[Callable[[], Any]] = []
    answer: Any
    for asked in sys.stdin:
        request = json.loads(asked)
        with torch.no_grad():
            if request["do"] == "versions":
                answer = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
                answer["triton"] = importlib.import_module("triton").__version__
                if side == "fla":
                    answer["fla"] = importlib.import_module("fla").__version__
            elif request["do"] == "errors":
                answer = _errors(forward, request["regime"], request["raw"])
            elif request["do"] == "prepare":
                calls = []
                torch.cuda.empty_cache()
                calls = _calls(forward, request["shape"], request["regime"], request["raw"])
                _gpu_samples(calls, 4)
                answer = "ready"
            elif request["do"] == "gpu":
                answer = _gpu_samples(calls, request["count"])
            else:
                answer = _eager_sample(calls, request["count"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


# ---- the parent: turns, checks, results


class _Side:
    def __init__(self, name: str) -> None:
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headway.tasks.kda.measure", "--serve", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, do: str, **request: Any) -> Any:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": do, **request}) + "\n")
        self.process.stdin.flush()
        said = self.process.stdout.readline()
        while said and not said.startswith(("{", "[", '"')) and not said[:1].isdigit():
            said = self.process.stdout.readline()  # what a library prints
        if not said:
            raise RuntimeError(f"the {self.name} process ended; its error stands above")
        return json.loads(said)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def _summary(samples: Sequence[float]) -> dict[str, Any]:
    low, high = interval(samples)
    return {"median_ms": statistics.median(samples), "low_ms": low, "high_ms": high, "samples_ms": list(samples)}


def _compare(sides: Sequence[_Side], rounds: int, eager_calls: int) -> dict[str, Any]:
    """ABBA rounds of four GPU samples a turn; the ratio of every round, on the GPU and eager."""
    gpu: dict[str, list[float]] = {side.name: [] for side in sides}
    eager: dict[str, list[float]] = {side.name: [] for side in sides}
    ratios: dict[str, list[float]] = {"gpu_ratio": [], "eager_ratio": []}
    for _ in range(rounds):
        turn: dict[str, list[float]] = {side.name: [] for side in sides}
        walls: dict[str, list[float]] = {side.name: [] for side in sides}
        for side in [*sides, *reversed(sides)]:
            turn[side.name] += side.ask("gpu", count=4)
            walls[side.name].append(side.ask("eager", count=eager_calls))
        for name in turn:
            gpu[name] += turn[name]
            eager[name] += walls[name]
        if len(sides) == 2:
            for kind, samples in (("gpu_ratio", turn), ("eager_ratio", walls)):
                ours, theirs = (statistics.median(samples[side.name]) for side in sides)
                ratios[kind].append(theirs / ours)
    result: dict[str, Any] = {name: {"gpu": _summary(gpu[name]), "eager": _summary(eager[name])} for name in gpu}
    for kind, found in ratios.items():
        if found:
            result[kind] = {"median": statistics.median(found), "min": min(found), "max": max(found)}
    return result


def _check(sides: Sequence[_Side], regime: str, raw: bool) -> dict[str, dict[str, float]]:
    errors: dict[str, dict[str, float]] = {s.name: s.ask("errors", regime=regime, raw=raw) for s in sides}
    for other in sides[1:]:
        for part, error in errors[sides[0].name].items():
            bar = errors[other.name][part]
            if not error <= ERROR_RATIO * bar:
                raise SystemExit(f"{regime}: error of {part} {error:.2e}, {other.name}'s {bar:.2e}: not timed")
    return errors


def compare(
    shapes: Sequence[str], regimes: Sequence[str], raw: bool, against: str, rounds: int, save: Callable[[Result], None]
) -> Result:
    """Headway and `against` ("nobody" for none) at every shape and regime; `save` is called after every row."""
    sides = [_Side(name) for name in ("headway", against) if name in SIDES]
    result: Result = {
        "schema": "headway.kda-measurement/2",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "versions": {side.name: side.ask("versions") for side in sides},
        "errors": {regime: _check(sides, regime, raw) for regime in [*regimes, "similar"]},
        "rows": [],
    }
    for text in shapes:
        shape = [int(n) for n in text.split("x")]
        for regime in regimes:
            for side in sides:
                side.ask("prepare", shape=shape, regime=regime, raw=raw)
            result["rows"].append({"shape": shape, "regime": regime, "raw": raw, **_compare(sides, rounds, 10)})
            save(result)
    for side in sides:
        side.close()
    return result


def measure() -> list[Row]:
    """All shapes: log gates in four regimes against FLA, and gates made in the kernel in two against FlashKDA."""
    found: list[Row] = []
    peers = (("fla", "fla", False, REGIMES), ("flashkda", "flash_kda", True, REGIMES[::2]))
    for against, module, raw, regimes in peers:
        here = against if importlib.util.find_spec(module) else "nobody"
        if here == "nobody":
            found.append(could_not_run("all shapes", against, f"{module} is not installed"))
        found += rows_of(compare(SHAPES, regimes, raw, here, 3, lambda result: None))
    return found


def check() -> list[Row]:
    """Errors of output and state against the float64 recurrence in every regime, log gates and raw ones."""
    side = _Side("headway")
    found: list[Row] = []
    for raw in (False, True):
        for regime in (*REGIMES, "similar"):
            errors = side.ask("errors", regime=regime, raw=raw)
            name = f"{regime}{' raw' * raw}"
            for part, error in errors.items():
                bar = ERROR_RATIO * FLA_ERRORS["strong" if raw else regime][part]
                found.append({"workload": name, "variant": part, "error": error, "right": error <= bar})
    side.close()
    return found


def rows_of(result: Result) -> list[Row]:
    """A comparison as rows: GPU and eager times of each side, and the other side's time over headway's."""
    found: list[Row] = []
    for one in result["rows"]:
        name = f"{','.join(map(str, one['shape']))} {one['regime']}{' raw' * one['raw']}"
        names = [side for side in SIDES if side in one]
        for side in names:
            errors = result["errors"][one["regime"]][side]
            for mode in ("gpu", "eager"):
                found.append(row(name, side, mode, one[side][mode]["samples_ms"], errors["o"]))
        for mode in ("gpu", "eager"):
            if f"{mode}_ratio" in one:
                spread = one[f"{mode}_ratio"]
                found.append(
                    {"workload": name, "variant": f"{names[1]} / headway", "mode": f"{mode} ratio", "unit": "ratio"}
                    | {"median": spread["median"], "low": spread["min"], "high": spread["max"]}
                )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog=__spec__.name, description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shapes", nargs="+", default=["1x8192x64"], help="batch x tokens x heads")
    parser.add_argument("--regimes", nargs="+", default=["registry"])
    parser.add_argument("--raw", action="store_true", help="gate, sigmoid and norm in the kernel")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", choices=["fla", "flashkda", "nobody"], default="fla")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--serve", choices=list(SIDES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        _serve(options.serve)
        return

    def save(result: Result) -> None:
        newest = {**result, "rows": result["rows"][-1:]}
        sys.stdout.write("".join(f"{line(one)}\n" for one in rows_of(newest)))
        sys.stdout.flush()
        if options.out:
            options.out.write_text(json.dumps(result, indent=1) + "\n")

    compare(options.shapes, options.regimes, options.raw, options.against, options.rounds, save)


if __name__ == "__main__":
    main()
