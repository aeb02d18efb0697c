"""The static fingerprint of a compiled kernel: what ptxas and cuobjdump say, as values. Pure; one parser for all rooms.

Deterministic for one toolchain, so a compiler regression is found by comparing two fingerprints, without a GPU.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

CLASSES: Mapping[str, tuple[str, ...]] = {
    "tensor core": ("HMMA", "HGMMA", "IMMA", "IGMMA", "DMMA", "BMMA", "QGMMA", "QMMA", "OMMA", "UTCHMMA", "UTCIMMA",
                    "UTCQMMA", "UTCOMMA"),
    "tensor memory": ("LDTM", "STTM", "UTCCP", "UTCSHIFT", "UTCATOMSWS"),
    "global memory": ("LDG", "STG", "LDGSTS", "UTMALDG", "UTMASTG", "UBLKCP", "UBLKRED", "ATOMG", "RED", "ATOM", "LD",
                      "ST"),
    "shared memory": ("LDS", "STS", "LDSM", "STSM", "ATOMS"),
    "local memory": ("LDL", "STL"),
    "barrier": ("BAR", "SYNCS", "WARPSYNC", "WARPGROUP", "DEPBAR", "MEMBAR", "FENCE", "LDGDEPBAR", "ARRIVES", "UTCBAR",
                "ACQBULK", "CGABAR", "UCGABAR"),
    "shuffle": ("SHFL", "VOTE", "VOTEU", "MATCH", "REDUX", "CREDUX"),
    "special function": ("MUFU",),
    "float": ("FADD", "FMUL", "FFMA", "FMNMX", "FMNMX3", "FADD2", "FMUL2", "FFMA2", "FSETP", "FSEL", "HADD2", "HMUL2",
              "HFMA2", "DADD", "DMUL", "DFMA", "F2F", "F2FP", "F2I", "I2F", "FCHK"),
    "control": ("BRA", "EXIT", "BSSY", "BSYNC", "CALL", "RET", "NANOSLEEP", "YIELD", "WARPSYNC"),
}  # fmt: skip
"""Instruction families by the first part of their name; anything else is `integer and moves`. NOP counts nowhere."""

_FUNCTION = re.compile(r"Compiling entry function '([^']+)'|Function properties for (\S+)|Function : (\S+)")
_USED = re.compile(r"Used (\d+) registers")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_SHARED = re.compile(r"(\d+) bytes smem")
_BARRIERS = re.compile(r"used (\d+) barriers")
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """One kernel. Bytes for `shared`, `stack` and spills; `instructions` counts machine instructions by family.

    `barriers` are the hardware barriers that ptxas gave it, as it says itself; 0 where it was not asked.
    """

    name: str
    registers: int
    shared: int
    stack: int
    spill_stores: int
    spill_loads: int
    instructions: Mapping[str, int]
    barriers: int = 0

    @property
    def spills(self) -> bool:
        """Registers went to memory."""
        return self.spill_stores + self.spill_loads > 0

    @property
    def tensor_core(self) -> int:
        """Machine instructions that use the tensor cores."""
        return self.instructions.get("tensor core", 0)


def of_result(compile_facts: Mapping[str, Any]) -> dict[str, tuple[Fingerprint, ...]]:
    """From a worker result's `compile`: by case, the kernels in the order they were met. Empty where there are none."""
    return {
        str(case["case"]): tuple(
            Fingerprint(
                str(one["name"]),
                int(one["registers"]),
                int(one["shared"]),
                int(one["stack"]),
                int(one["spill_stores"]),
                int(one["spill_loads"]),
                families(one["instructions"]),
            )
            for one in case["kernels"].values()
        )
        for case in compile_facts.get("cases", ())
    }


def of_listings(ptxas_words: str, sass: str) -> tuple[Fingerprint, ...]:
    """From `ptxas -v` and `cuobjdump -sass` of the same file; kernels in the order of the listing."""
    told = dict(_resources(ptxas_words))
    return tuple(
        Fingerprint(name, *told.get(name, (0, 0, 0, 0, 0)), families(counts), barriers_of(ptxas_words).get(name, 0))
        for name, counts in opcodes(sass).items()
    )


def opcodes(sass: str) -> dict[str, Counter[str]]:
    """From `cuobjdump -sass`: by kernel, how often each instruction stands there, with its modifiers."""
    counts: dict[str, Counter[str]] = {}
    name = ""
    for line in sass.splitlines():
        if found := _FUNCTION.search(line):
            name = found[3] or name
            counts.setdefault(name, Counter())
        elif name and (found := _INSTRUCTION.match(line)):
            counts[name][found[1]] += 1
    return counts


def barriers_of(ptxas_words: str) -> dict[str, int]:
    """By kernel, the hardware barriers that `ptxas -v` says it uses."""
    name, found = "", {}
    for line in ptxas_words.splitlines():
        if told := _FUNCTION.search(line):
            name = told[1] or told[2] or name
        if name and (used := _BARRIERS.search(line)):
            found[name] = int(used[1])
    return found


def _resources(words: str) -> Iterator[tuple[str, tuple[int, int, int, int, int]]]:
    """(kernel, (registers, shared, stack, spill stores, spill loads)) for each entry function."""
    name, spills = "", (0, 0, 0)
    for line in words.splitlines():
        if found := _FUNCTION.search(line):
            name = found[1] or found[2] or name
        elif found := _SPILLS.search(line):
            spills = (int(found[1]), int(found[2]), int(found[3]))
        if name and (used := _USED.search(line)):
            shared = _SHARED.search(line)
            yield name, (int(used[1]), int(shared[1]) if shared else 0, *spills)
            spills = (0, 0, 0)


def families(instructions: Mapping[str, int]) -> dict[str, int]:
    """Counts by family, in the order of `CLASSES`, families without an instruction left out."""
    total: Counter[str] = Counter()
    for name, count in instructions.items():
        if (root := name.partition(".")[0]) != "NOP":
            total[_family(root)] += count
    order = [*CLASSES, "integer and moves"]
    return {family: total[family] for family in order if total[family]}


def _family(root: str) -> str:
    return next((family for family, roots in CLASSES.items() if root in roots), "integer and moves")


def differences(before: Fingerprint, after: Fingerprint) -> tuple[str, ...]:
    """What a reader wants to know of a changed kernel, worst first; empty if nothing that counts changed."""
    said = []
    for what in ("spill_stores", "spill_loads", "registers", "shared", "stack", "barriers"):
        old, new = getattr(before, what), getattr(after, what)
        if old != new:
            said.append(f"{what.replace('_', ' ')} {old} -> {new}")
    for family in dict.fromkeys([*before.instructions, *after.instructions]):
        old, new = before.instructions.get(family, 0), after.instructions.get(family, 0)
        if old != new:
            said.append(f"{family} instructions {old} -> {new}")
    return tuple(said)
