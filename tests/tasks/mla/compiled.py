"""Compiles the MLA kernels for sm_90, with no GPU, and prints what the binaries need and hold as one JSON object."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

from headway.tasks.mla import kernels as prefill_plain
from headway.tasks.mla import kernels_gluon as prefill_gluon
from headway.tasks.mla_decode import kernels as decode_plain
from headway.tasks.mla_decode import kernels_gluon as decode_gluon

TOOLS = Path(triton.__file__).parent / "backends/nvidia/bin"
LAYOUT = gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2)


def gluon_tile(columns: int, dtype: str = "bf16") -> str:
    return f"tensordesc<{dtype}[64, {columns}],{LAYOUT!r}>"


def plain_tile(rows: int, columns: int) -> str:
    return f"tensordesc<bf16[{rows}, {columns}]>"


def binary(source: type, fn: Any, types: dict[str, str], constants: dict[str, Any], **options: Any) -> dict[str, int]:
    names = fn.arg_names
    signature = {name: types.get(name, "constexpr") for name in names}
    attributes = {(i,): [["tt.divisibility", 16]] for i, n in enumerate(names) if signature[n].startswith("*")}
    values = {(names.index(name),): value for name, value in constants.items()}
    kernel = triton.compile(source(fn, signature, values, attributes), GPUTarget("cuda", 90, 32), options)
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(kernel.asm["cubin"])
        file.flush()
        sass = _run("nvdisasm", "-c", file.name)
        usage = _run("cuobjdump", "--dump-resource-usage", file.name)
    return {
        "registers": int(re.findall(r"REG:(\d+)", usage)[0]),
        "spilled_bytes": int(re.findall(r"STACK:(\d+)", usage)[0]),
        "shared_bytes": kernel.metadata.shared,
        "wgmma": len(re.findall(r"HGMMA", sass)),
        # one a group of products; a serialised kernel has one a product
        "wgmma_groups": len(re.findall(r"WARPGROUP\.ARRIVE", sass)),
    }


def _run(tool: str, *arguments: str) -> str:
    return subprocess.run([TOOLS / tool, *arguments], capture_output=True, text=True, check=True).stdout


def prefill() -> dict[str, dict[str, int]]:
    wide, narrow = gluon_tile(256), gluon_tile(64)
    types = {
        "q_desc": wide, "qp_desc": narrow, "k_desc": wide, "kp_desc": narrow, "o_desc": wide, "flags": "*i32",
        "scale": "fp32", "seq": "i32", "n_blocks": "i32",
    }  # fmt: skip
    found = {}
    for rope, causal, heads in ((True, True, 64), (False, False, 16)):
        name = f"gluon {'rope' if rope else 'no rope'} {'causal' if causal else 'full'} H={heads}"
        constants = {"H": heads, "CAUSAL": causal, "ROPE": rope}
        found[name] = binary(GluonASTSource, prefill_gluon.prefill, types, constants, num_warps=4)
    numbers = dict.fromkeys(("row0", "n_blocks", "n_tiles", "n_rows", "seq"), "i32")
    common = {"H": 64, "BM": 128, "BN": 128, "BK": 64, "CAUSAL": True, "EMULATED": False}
    score = {"q_desc": plain_tile(128, 64), "k_desc": plain_tile(128, 64), "p_desc": plain_tile(128, 128)}
    score |= {"ref": "*fp32", "sums": "*fp32", "scale": "fp32"} | numbers
    found["two-kernel score"] = binary(
        ASTSource, prefill_plain.probabilities, score, common | {"D": 576, "GROUP": 64}, num_warps=4, num_stages=2
    )
    weigh = {"p_desc": plain_tile(128, 64), "v_desc": plain_tile(64, 256), "o_desc": plain_tile(128, 256)}
    weigh |= {"sums": "*fp32", "flags": "*i32"} | {n: t for n, t in numbers.items() if n != "n_rows"}
    found["two-kernel weigh"] = binary(
        ASTSource, prefill_plain.weighted_sum, weigh, common | {"BV": 256}, num_warps=8, num_stages=3, maxnreg=168
    )
    online = {"q_desc": plain_tile(64, 512), "qp_desc": plain_tile(64, 64), "k_desc": plain_tile(64, 512)}
    online |= {"kp_desc": plain_tile(64, 64), "o_desc": plain_tile(64, 512), "flags": "*i32", "scale": "fp32"}
    online |= {"n_blocks": "i32", "seq": "i32"}
    constants = {"H": 64, "ROPE": True, "BM": 64, "BN": 64, "FLAG_ROWS": 64, "CAUSAL": True, "EMULATED": False}
    found["online rows"] = binary(ASTSource, prefill_plain.online_rows, online, constants, num_warps=8, num_stages=1)
    return found


def decode() -> dict[str, dict[str, int]]:
    wide, narrow = gluon_tile(256), gluon_tile(64)
    types = {
        "q_desc": wide, "qp_desc": narrow, "k_desc": wide, "kp_desc": narrow, "lse": "*fp32", "peak": "*fp32",
        "scale": "fp32", "seq": "i32", "chunk": "i32",
    }  # fmt: skip
    found = {}
    for name, rope, direct, out in (
        ("gluon rope", True, False, gluon_tile(256, "fp16")),
        ("gluon no rope, direct", False, True, wide),
    ):
        constants = {"H": 64, "ROPE": rope, "DIRECT": direct}
        found[name] = binary(GluonASTSource, decode_gluon.split_kv, types | {"out_desc": out}, constants, num_warps=4)
    combine = {"part": "*fp16", "lse": "*fp32", "peak": "*fp32", "o": "*bf16"}
    constants = {"H": 64, "SPLITS": 16, "SPLITS_P2": 16, "CHUNK": 16, "COLS": 256}
    found["combine"] = binary(ASTSource, decode_plain.combine, combine, constants, num_warps=1)
    return found


if __name__ == "__main__":
    json.dump({"prefill": prefill, "decode": decode}[sys.argv[1]](), sys.stdout)
