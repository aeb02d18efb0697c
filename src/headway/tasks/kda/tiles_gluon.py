"""What both Gluon kernels of KDA are written with: packed bfloat16 arithmetic, and addresses that stay where they are.

A packed operation is one instruction for two bfloat16 values, with one rounding each.  Inline assembly, because Gluon
would compute in float32 and convert; `tests/tasks/kda/gluon_on_cpu.py` says in torch what each one does.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

TILE_BYTES = gl.constexpr(64 * 64 * 2)


@gluon.jit
def exp2_bf16(x):
    """bf16(2 ** x) of fp32 x."""
    return gl.inline_asm_elementwise(
        "{ .reg .f32 a, b; ex2.approx.ftz.f32 a, $1; ex2.approx.ftz.f32 b, $2; cvt.rn.bf16x2.f32 $0, b, a; }",
        "=r,r,r",
        [x],
        dtype=gl.bfloat16,
        is_pure=True,
        pack=2,
    )


@gluon.jit
def mul_bf16(x, y):
    return gl.inline_asm_elementwise(
        "mul.rn.bf16x2 $0, $1, $2;", "=r,r,r", [x, y], dtype=gl.bfloat16, is_pure=True, pack=2
    )


@gluon.jit
def sub_bf16(x, y):
    return gl.inline_asm_elementwise(
        "sub.rn.bf16x2 $0, $1, $2;", "=r,r,r", [x, y], dtype=gl.bfloat16, is_pure=True, pack=2
    )


@gluon.jit
def le_bf16(x, y):
    """1.0 where x <= y, else 0.0."""
    return gl.inline_asm_elementwise(
        "set.le.bf16x2.bf16x2 $0, $1, $2;", "=r,r,r", [x, y], dtype=gl.bfloat16, is_pure=True, pack=2
    )


@gluon.jit
def keep_where(x, m):
    """x where m != 0, else 0 (a select, so garbage in x goes); neighbours in a row share one value of m."""
    return gl.inline_asm_elementwise(
        "{ .reg .pred p; setp.ne.s32 p, $2, 0; selp.b32 $0, $1, 0, p; }",
        "=r,r,r,r",
        [x, m],
        dtype=x.dtype,
        is_pure=True,
        pack=2,
    )


@gluon.jit
def opaque_zero(x):
    """Zero, in a way the compiler cannot see.

    Shared memory is addressed through an index of this value, so that the 64-bit matrix descriptors are built where
    they are used.  Otherwise all of them are hoisted out of the loop over chunks and spilled (488 bytes a thread).
    """
    return gl.inline_asm_elementwise(
        "{ .reg .u32 t; mov.u32 t, %nctaid.y; sub.u32 $0, t, 1; }",
        "=r,r",
        [x],
        dtype=gl.int32,
        is_pure=False,
        pack=1,
    )


@gluon.jit
def wait_for_the_kernel_before(x):
    """For a kernel launched with `launch_pdl=True`: nothing that the one before it writes may be read earlier."""
    gl.inline_asm_elementwise(
        "griddepcontrol.wait; mov.b32 $0, $1;", "=r,r", [x], dtype=gl.int32, is_pure=False, pack=1
    )


@gluon.jit
def zero_rows(tile, valid, LAYOUT: gl.constexpr):
    """Clear the rows of a tile from `valid` on: they belong to the next sequence, or to nobody."""
    rows = gl.arange(0, 64, gl.SliceLayout(1, LAYOUT))[:, None]
    x = tile.load(LAYOUT)
    tile.store(gl.where(rows < valid, x, 0.0))


@gluon.jit
def side_by_side(left, right, LAYOUT: gl.constexpr):
    """[64, 64] of two halves [64, 32]."""
    return gl.convert_layout(gl.reshape(gl.permute(gl.join(left, right), (0, 2, 1)), (64, 64)), LAYOUT)
