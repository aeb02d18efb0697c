"""A stand-in for Gluon that runs a kernel's text on CPU tensors, one program after another, in program order.

Gluon has no interpreter.  Its kernels are Python all the same: with tensors for registers and shared memory, copies
that happen at once and products in fp32, the arithmetic of a kernel can be followed on a CPU, roundings included.
Specialised warps are threads, and memory barriers count arrivals and bytes, so a wrong count or parity stops the run.
What this cannot see: races inside a warp group, layouts, alignment.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Condition
from types import ModuleType, SimpleNamespace

import torch

import headway.tasks.kda as package

PLACE = Path(package.__file__).parent
SHARED = "headway.tasks.kda.tiles_gluon"
NAN = float("nan")


class Box:
    """A TMA descriptor: a matrix that is copied in boxes, with zeros beyond its edge."""

    def __init__(self, matrix):
        self.matrix = matrix


class Shared:
    """A view of shared memory."""

    def __init__(self, data):
        self.data = data

    def index(self, i):
        return Shared(self.data[int(i)])

    def slice(self, start, length, dim=0):
        return Shared(self.data.narrow(dim, start, length))

    def permute(self, order):
        return Shared(self.data.permute(*order))

    def reshape(self, shape):
        return Shared(self.data.view(*shape))

    def _reinterpret(self, dtype, shape, layout):
        return Shared(self.data.view(dtype).view(*shape))

    def load(self, layout):
        return self.data.clone()

    def store(self, value):
        self.data.copy_(value)


class Barriers:
    """Memory barriers by address: a phase ends when all have arrived and all expected bytes are there."""

    def __init__(self):
        self.state, self.changed = {}, Condition()

    def init(self, bar, count):
        self.state[bar.data.data_ptr()] = {"count": count, "missing": count, "bytes": 0, "phase": 0}

    def _update(self, bar, arrivals, size):
        with self.changed:
            state = self.state[bar.data.data_ptr()]
            state["missing"] -= arrivals
            state["bytes"] += size
            assert state["missing"] >= 0
            if state["missing"] == 0 and state["bytes"] == 0:
                state["phase"] ^= 1
                state["missing"] = state["count"]
                self.changed.notify_all()

    def expect(self, bar, size, pred=True):
        if pred:
            self._update(bar, 1, size)

    def arrive(self, bar, count=1):
        self._update(bar, count, 0)

    def wait(self, bar, parity, pred=True):
        if pred:
            with self.changed:
                state = self.state[bar.data.data_ptr()]
                assert self.changed.wait_for(lambda: state["phase"] != int(parity), timeout=60), "nobody arrives"

    def fetch(self, box, at, bar, target, pred=True):
        if pred:
            rows, cols = target.data.shape
            part = box.matrix[int(at[0]) : int(at[0]) + rows, int(at[1]) : int(at[1]) + cols]
            target.data.zero_()
            target.data[: part.shape[0], : part.shape[1]] = part
            self._update(bar, 0, -target.data.numel() * target.data.element_size())


class Pointer:
    def __init__(self, data, offset=0):
        self.data, self.offset = data.view(-1), offset

    def __add__(self, offset):
        return Pointer(self.data, self.offset + offset)


def _load(pointer, mask=None, other=0.0):
    at = torch.as_tensor(pointer.offset).long()
    if mask is None:
        value = pointer.data[at]
        return value
    return torch.where(mask, pointer.data[torch.where(mask, at, 0)], torch.tensor(other, dtype=pointer.data.dtype))


def _store(pointer, value, mask=None):
    mask = torch.ones_like(value, dtype=torch.bool) if mask is None else mask.broadcast_to(value.shape)
    at = torch.as_tensor(pointer.offset).broadcast_to(value.shape)
    pointer.data[at[mask].long()] = value[mask].to(pointer.data.dtype)


def _product(a, b, acc, use_acc=True, is_async=False):
    a = a.data if isinstance(a, Shared) else a
    assert a.dtype == b.data.dtype
    product = a.float() @ b.data.float()
    return acc + product if use_acc else product


def _put(box, at, source):
    rows, cols = source.data.shape
    part = box.matrix[int(at[0]) : int(at[0]) + rows, int(at[1]) : int(at[1]) + cols]
    part.copy_(source.data[: part.shape[0], : part.shape[1]])


def _where(condition, a, b):
    if torch.is_tensor(condition):
        return torch.where(condition, a, b)
    return a if condition else b


def _bf16(x):
    return x.to(torch.bfloat16)


def _nothing(*args, **options):
    return None


def _warp_specialize(functions, warps, registers):
    with ThreadPoolExecutor(len(functions)) as pool:
        for running in [pool.submit(function, *args) for function, args in functions]:
            running.result()


def _fakes(place):
    barriers = Barriers()
    language = ModuleType("language")
    for name in ("float32", "bfloat16", "float16", "int32", "int64"):
        setattr(language, name, getattr(torch, name))
    for name in ("NVMMASharedLayout", "NVMMADistributedLayout", "DotOperandLayout", "SliceLayout"):
        setattr(language, name, _nothing)
    language.__dict__.update(
        constexpr=lambda x: x,
        static_range=range,
        program_id=lambda axis: torch.tensor(place.program[axis], dtype=torch.int32),
        num_programs=lambda axis: place.programs[axis],
        allocate_shared_memory=lambda dtype, shape, layout: Shared(
            torch.full(shape, NAN if dtype.is_floating_point else 0).to(dtype)
        ),
        arange=lambda start, end, layout: torch.arange(start, end, dtype=torch.int32),
        full=lambda shape, value, dtype, layout: torch.full(shape, value, dtype=dtype),
        zeros=lambda shape, dtype, layout: torch.zeros(shape, dtype=dtype),
        where=_where,
        minimum=min,
        exp2=torch.exp2,
        log2=torch.log2,
        rsqrt=torch.rsqrt,
        max=lambda x, axis: x.max(axis).values,
        join=lambda a, b: torch.stack([a, b], -1),
        permute=lambda x, order: x.permute(*order),
        reshape=lambda x, shape: x.reshape(*shape),
        convert_layout=lambda x, layout: x,
        load=_load,
        store=_store,
        warp_specialize=_warp_specialize,
    )
    hopper = ModuleType("hopper")
    hopper.tma = SimpleNamespace(
        async_copy_global_to_shared=barriers.fetch, async_copy_shared_to_global=_put, store_wait=_nothing
    )
    hopper.mbarrier = SimpleNamespace(
        MBarrierLayout=_nothing,
        init=barriers.init,
        expect=barriers.expect,
        wait=barriers.wait,
        arrive=barriers.arrive,
    )
    hopper.fence_async_shared = _nothing
    hopper.warpgroup_mma = _product
    hopper.warpgroup_mma_wait = lambda pending, deps: deps[0] if len(deps) == 1 else tuple(deps)
    gluon = ModuleType("gluon")
    gluon.jit = lambda function: function
    gluon.language = language
    experimental = ModuleType("experimental")
    experimental.gluon = gluon
    return {
        "triton": ModuleType("triton"),
        "triton.experimental": experimental,
        "triton.experimental.gluon": gluon,
        "triton.experimental.gluon.language": language,
        "triton.experimental.gluon.language.nvidia.hopper": hopper,
    }


def _run(file, names):
    """The names that a file of kernels defines, added to `names`."""
    exec(compile((PLACE / file).read_text(), str(PLACE / file), "exec"), names)
    return names


def kernels():
    """(prep, scan, place): the kernels' bodies, and where the running program stands in its grid."""
    place = SimpleNamespace(program=(0, 0), programs=(1, 1))
    fakes = _fakes(place)
    fakes[SHARED] = ModuleType(SHARED)
    before = {name: sys.modules.get(name) for name in fakes}
    sys.modules.update(fakes)
    try:
        shared = _run("tiles_gluon.py", fakes[SHARED].__dict__)
        # What is inline assembly there
        shared.update(
            exp2_bf16=lambda x: _bf16(torch.exp2(x)),
            mul_bf16=lambda x, y: _bf16(x.float() * y.float()),
            sub_bf16=lambda x, y: _bf16(x.float() - y.float()),
            le_bf16=lambda x, y: _bf16(x <= y),
            keep_where=lambda x, m: torch.where(m != 0, x, torch.zeros((), dtype=x.dtype)),
            opaque_zero=lambda x: 0,
            wait_for_the_kernel_before=_nothing,
        )
        prep, scan = (_run(f"{name}_gluon.py", {})[name] for name in ("prep", "scan"))
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return prep, scan, place


def forward(q, k, v, g, beta, state, bounds, *, raw=None, programs=3):
    """o and the final states of packed sequences, as the two kernels compute them.  raw: (exp(a_log), dt_bias)."""
    prep, scan, place = kernels()
    _, tokens, heads, _ = q.shape
    chunk_rows = [(at, min(64, end - at)) for a, end in pairwise(bounds) for at in range(a, end, 64)]
    first_chunk, sequences = 0, []
    for start, end in pairwise(bounds):
        sequences.append((start, end - start, first_chunk))
        first_chunk += (end - start + 63) // 64
    work = len(chunk_rows) * heads
    ws = torch.full((work * 512, 64), NAN, dtype=torch.bfloat16)
    gamma = torch.full((work, 128), NAN)
    o = torch.full((tokens, heads * 128), NAN, dtype=torch.bfloat16)
    final = torch.full((len(sequences), heads, 128, 128), NAN)
    flat = [Box(x.reshape(tokens, heads * 128)) for x in (q, k, g, v)]
    rate, bias = raw or (torch.ones(heads), torch.zeros(heads * 128))
    chunk_table, seq_table = (torch.tensor(x, dtype=torch.int32) for x in (chunk_rows, sequences))
    ragged = any(rows < 64 for _, rows in chunk_rows)
    flags = {"VARLEN": True, "TAIL": ragged}
    place.programs = (programs, 1)
    for program in range(min(programs, work)):
        place.program = (program, 0)
        prep(
            *flat[:3], Box(ws), Pointer(gamma), Pointer(beta), Pointer(rate), Pointer(bias), Pointer(chunk_table), work,
            heads, tokens, 0, 128**-0.5, -5.0, NORMALIZE=True, RAW=raw is not None, BETA_LOGIT=raw is not None, **flags,
        )  # fmt: skip
    for program in ((part, pair) for pair in range(len(sequences) * heads) for part in range(2)):
        place.program = program
        scan(
            Box(ws), Box(ws), Box(ws), flat[3], Box(gamma), Box(o), Pointer(o), Pointer(state), Pointer(final),
            Pointer(seq_table), heads, tokens, 0, HAS_STATE=True, STAGES=3, **flags,
        )  # fmt: skip
    return o.view(1, tokens, heads, 128), final
