"""What an agent is told of where the time goes: a worker's facts about kernels, in at most 2,000 tokens. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headway.core.ports.worker import WorkerResult
from headway.core.task import Task
from headway.tune.measure.roofline import Roof, Standing, roof_of, standings

MOST_BYTES = 6_000
"""Of text like this a token is more than three bytes."""
KERNELS = 6
REGISTERS, SHARED, WARPS = 65_536, 228 << 10, 64
"""Of a multiprocessor of the Hopper generation, for the occupancy that a kernel's own needs allow."""
GROUPS = (
    ("matrix", ("HGMMA", "HMMA", "IMMA")),
    ("global loads", ("LDG", "LDGSTS", "UTMALDG")),
    ("global stores", ("STG", "UTMASTG")),
    ("shared", ("LDS", "STS", "LDSM", "STSM")),
    ("special", ("MUFU",)),
    ("barriers", ("BAR", "SYNCS", "WARPGROUP")),
    ("local (spills)", ("LDL", "STL")),
)


def profile_of(task: Task, result: WorkerResult) -> str:
    """The worker's own words if it has any; else its facts: cases, kernels, differences, tuning. "" if it has none."""
    if result.profile:
        return result.profile
    lines = list(_static(result) if result.estimate else _device(task, result))
    return _cut("\n".join(lines))


def occupancy(kernel: Mapping[str, Any]) -> float:
    """Share of a multiprocessor's warps that its registers and shared memory leave room for."""
    warps = max(int(kernel.get("num_warps") or 4), 1)
    blocks = WARPS // warps
    if registers := int(kernel.get("registers") or 0):
        blocks = min(blocks, REGISTERS // (-(-registers // 8) * 8 * 32 * warps))
    if shared := int(kernel.get("shared") or 0):
        blocks = min(blocks, SHARED // (shared + 1024))
    return max(blocks, 0) * warps / WARPS


def _device(task: Task, result: WorkerResult) -> Iterator[str]:
    profiles, roof = result.compile.get("profiles") or {}, roof_of(result.machine)
    if not profiles and roof is None:
        return
    if roof is not None:
        yield f"This card reaches {_rates(roof)}."
    for standing in standings(task, result.samples, roof):
        yield _where(_shown(task, standing.case), standing)
    for name, sides in profiles.items():
        yield from _kernels(_shown(task, name), sides)
    for name, choices in ((result.compile.get("tuned") or {}).get("candidate") or {}).items():
        for one in choices:
            yield f"{_shown(task, name)}: {one.get('kernel')} is tuned to {one.get('config')}, of {one.get('of')}"


def _rates(roof: Roof) -> str:
    return (
        f"{roof.copy_bytes / 1e12:.2f} TB/s in a copy, {roof.matrix_flops / 1e12:.0f} TFLOP/s in a bfloat16 product, "
        f"{roof.launch_seconds * 1e6:.1f} us for a kernel of nothing"
    )


def _where(case: str, at: Standing) -> str:
    parts = f"memory {at.memory_seconds * 1e6:.1f}, compute {at.compute_seconds * 1e6:.1f} us"
    advice = "" if at.achieved >= 0.5 else "; far from every roof: latency, occupancy, or more work than is counted"
    return (
        f"{case}: {at.seconds * 1e6:.1f} us against the rival's {at.rival_seconds * 1e6:.1f}; floor "
        f"{at.floor_seconds * 1e6:.1f} us ({parts}), {at.achieved:.0%} of it reached, bound by {at.bound}{advice}"
    )


def _kernels(case: str, sides: Mapping[str, Any]) -> Iterator[str]:
    ours, theirs = (sides.get(name) or {} for name in ("candidate", "rival"))
    kernels = ours.get("kernels") or []
    if not kernels:
        why = ours.get("could_not_run") or ours.get("no_proton") or "none was seen"
        yield f"{case}: time by kernel could not be had: {why}"
        return
    total = sum(float(one["microseconds"]) for one in kernels) or 1.0
    before = {one["name"]: one for one in theirs.get("kernels") or []}
    how = "Proton" if ours.get("how") == "proton" else f"events ({ours.get('no_proton') or 'no Proton'})"
    yield f"{case}, time by kernel ({how}): {total:.1f} us in {len(kernels)}"
    for one in kernels[:KERNELS]:
        yield f"  {one['name']}: {one['microseconds']:.1f} us ({one['microseconds'] / total:.0%}){_needs(one)}" + _than(
            one, before.pop(one["name"], None)
        )
    if before:
        rest = ", ".join(f"{name} {one['microseconds']:.1f} us" for name, one in list(before.items())[:KERNELS])
        yield f"  only in the rival: {rest}"


def _needs(kernel: Mapping[str, Any]) -> str:
    if not kernel.get("registers"):
        return ""
    spills = f", {kernel['spills']} bytes spilled" if kernel.get("spills") else ""
    shared = f", {int(kernel['shared']) // 1024} KiB shared" if kernel.get("shared") else ""
    return f"; {kernel['registers']} registers{spills}{shared}, {occupancy(kernel):.0%} occupancy"


def _than(kernel: Mapping[str, Any], other: Mapping[str, Any] | None) -> str:
    if other is None:
        return ""
    more = kernel["microseconds"] - other["microseconds"]
    return f"; rival {other['microseconds']:.1f} us ({more:+.1f})"


def _static(result: WorkerResult) -> Iterator[str]:
    """Without a GPU: what the compiled kernels need, beside the rival's."""
    cases, rivals = result.compile.get("cases") or [], result.compile.get("rival") or []
    for case, rival in zip(cases, rivals, strict=False):
        others = {one["name"]: one for one in rival["kernels"].values()}
        yield (
            f"{case['case']}, static (sm_{case['arch']}; no loop counts are known): "
            f"{len(case['launches'])} launches, the rival {len(rival['launches'])}"
        )
        for one in list(case["kernels"].values())[:KERNELS]:
            told = {**one, "spills": one.get("spill_stores", 0) + one.get("spill_loads", 0)}
            yield f"  {one['name']}{_needs(told)}; {_mix(one['instructions'])}"
            if (other := others.pop(one["name"], None)) is not None:
                yield f"    rival: {other['registers']} registers; {_mix(other['instructions'])}"
        for name, other in list(others.items())[:KERNELS]:
            yield f"  only in the rival: {name}; {other['registers']} registers; {_mix(other['instructions'])}"


def _mix(instructions: Mapping[str, int]) -> str:
    total = sum(instructions.values())
    parts = []
    for name, heads in GROUPS:
        if count := sum(n for text, n in instructions.items() if text.partition(".")[0] in heads):
            parts.append(f"{name} {count}")
    return f"{total} instructions ({', '.join(parts)})" if parts else f"{total} instructions"


def _shown(task: Task, name: str) -> str:
    case = task.case(name)
    return "a held-out case" if case is not None and case.held_out else name


def _cut(text: str) -> str:
    body = text.encode()
    if len(body) <= MOST_BYTES:
        return text
    return body[: MOST_BYTES - 40].decode("utf-8", "ignore").rpartition("\n")[0] + "\n(cut)"


def floors_of(task: Task, result: WorkerResult) -> Sequence[dict[str, Any]]:
    """Roof and launch floor beside each figure, as JSON: seconds, shares of 1; held-out cases are left out."""
    return [
        {
            "case": at.case, "seconds": at.seconds, "rival_seconds": at.rival_seconds, "bound": at.bound,
            "floor_seconds": at.floor_seconds, "memory_seconds": at.memory_seconds,
            "compute_seconds": at.compute_seconds, "launch_seconds": at.launch_seconds, "achieved": at.achieved,
        }
        for at in standings(task, result.samples, roof_of(result.machine))
        if (case := task.case(at.case)) is not None and not case.held_out
    ]  # fmt: skip
