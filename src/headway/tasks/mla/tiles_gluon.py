"""What the Gluon kernels of MLA prefill and decode have in common: how tiles of keys are fetched, and a fast exp2.

A tile is 64 keys (or 64 queries); its 512 latent dims come as two halves of 256, its 64 rope dims apart.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

HALF_BYTES = gl.constexpr(64 * 256 * 2)  # 64 keys (or queries) x 256 latent dims
ROPE_BYTES = gl.constexpr(64 * 64 * 2)  # 64 keys (or queries) x 64 rope dims


@gluon.jit
def exp2(x):
    """2 ** x of float32 x, denormals as zero: gl.exp2 keeps them, at the price of three more instructions."""
    return gl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=gl.float32, is_pure=True, pack=1)


@gluon.jit
def load_half(desc, row, col, bar, dst, pred):
    """Fetch one half of a tile into `dst`; `bar` completes with it."""
    mbarrier.expect(bar, HALF_BYTES, pred=pred)
    tma.async_copy_global_to_shared(desc, [row, col], bar, dst, pred=pred)


@gluon.jit
def load_half_and_rope(desc, rope_desc, row, col, bar, dst, rope_dst, pred, ROPE: gl.constexpr):
    """Fetch one half of a tile, and with ROPE its rope dims; `bar` completes with both."""
    if ROPE:
        mbarrier.expect(bar, HALF_BYTES + ROPE_BYTES, pred=pred)
        tma.async_copy_global_to_shared(desc, [row, col], bar, dst, pred=pred)
        tma.async_copy_global_to_shared(rope_desc, [row, 512], bar, rope_dst, pred=pred)
    else:
        load_half(desc, row, col, bar, dst, pred)
