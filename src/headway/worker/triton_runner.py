"""The runner's part for Triton tasks without a GPU: interpret, or compile for a target and only note the launches.

Loaded into the runner before the candidate. Compiling stops at PTX, which needs no other program; the judge gives the
PTX to ptxas itself, in a closed process of its own.
"""

import hashlib
import linecache
import os
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.compiler import make_backend
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

PTX_VERSION = 86
"""The newest that Triton 3.6's LLVM writes; naming it spares asking ptxas, which would be another process."""
MOST_KERNELS = 64


WARM = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(y + at, tl.exp(v) / tl.sum(v, axis=0) + tl.max(v, axis=0), mask=at < n)


def entry(x):
    y = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128, num_warps=4)
    return y
"""


def known_to_inspect(source: str, name: str = "<candidate>") -> None:
    """Triton reads a kernel's source through `inspect`; the candidate has no file, so its lines go where it looks."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


def warm(arch: int, on_device: bool = False) -> "Launches | None":
    """Put a small kernel through the whole way before the sandbox closes: what is imported late is then there."""
    launches = None if on_device or os.environ.get("TRITON_INTERPRET") == "1" else Launches(arch)
    known_to_inspect(WARM, "<warm>")
    space: dict[str, Any] = {"__name__": "warm"}
    exec(compile(WARM, "<warm>", "exec"), space)
    space["entry"](torch.ones(256, device="cuda" if on_device else "cpu"))
    if launches is not None:
        launches.kernels.clear()
    return launches


def tensor_over(view: Any) -> Any:
    """A CPU tensor over an array of shared memory."""
    return torch.from_numpy(view)


def zeros(shape: list[int], dtype: str) -> Any:
    """A tensor of that size; its pages are never touched, because no kernel runs."""
    return torch.zeros(shape, dtype=getattr(torch, dtype))


def described(one: Any) -> dict[str, Any]:
    """Where a returned tensor lies. Anything but a plain CPU tensor is only named."""
    if type(one) is not torch.Tensor or one.device.type != "cpu" or one.layout != torch.strided:
        return {"plain": False, "type": str(type(one))[:80]}
    size = one.element_size()
    return {
        "plain": True, "address": one.data_ptr(), "shape": list(one.shape),
        "strides": [stride * size for stride in one.stride()], "dtype": str(one.dtype).removeprefix("torch."),
    }  # fmt: skip


class Launches:
    """A driver that has no device: kernels are compiled to PTX for the target, launches are noted, nothing runs."""

    def __init__(self, arch: int) -> None:
        torch.set_num_threads(1)
        self.kernels: dict[str, dict[str, Any]] = {}
        self.noted: list[dict[str, Any]] = []
        self.aim(arch)
        original, compile_ = JITFunction.create_binder, self._compile

        def create_binder(function: Any) -> Any:
            made = original(function)
            function.compile = compile_
            return made

        JITFunction.create_binder = create_binder

    def aim(self, arch: int) -> None:
        """From now on compile for this compute capability (90 for Hopper), and note launches from the first on."""
        self._target = GPUTarget("cuda", arch, 32)
        driver.set_active(_NoDevice(self._target))
        self.noted.clear()

    def _compile(self, src: Any, target: Any = None, options: Any = None, _env_vars: Any = None) -> "_Kernel":
        from triton._C.libtriton import ir

        backend = make_backend(self._target)
        asked = {**dict(options or {}), **src.parse_options()}
        asked["ptx_version"] = asked.get("ptx_version") or PTX_VERSION
        opts = backend.parse_options(asked)
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        metadata: dict[str, Any] = {"target": self._target, **opts.__dict__}
        codegen, modules = backend.get_codegen_implementation(opts), backend.get_module_map()
        module = src.make_ir(self._target, opts, codegen, modules, context)
        stages: dict[str, Any] = {}
        backend.add_stages(stages, opts, src.language)
        for name in list(stages)[list(stages).index(src.ext) :]:
            if name == "cubin":
                break
            module = stages[name](module, metadata)
        return self._keep(str(module), metadata)

    def _keep(self, ptx: str, metadata: dict[str, Any]) -> "_Kernel":
        digest = hashlib.sha256(ptx.encode()).hexdigest()[:16]
        if len(self.kernels) < MOST_KERNELS:
            self.kernels[digest] = {
                "name": str(metadata.get("name", "")), "ptx": ptx, "num_warps": int(metadata.get("num_warps", 4)),
                "shared": int(metadata.get("shared", 0)),
            }  # fmt: skip
        return _Kernel(digest, self.noted)


class _Kernel:
    """What `JITFunction.run` expects of a compiled kernel; its `run` only notes the grid."""

    function = 0
    packed_metadata = b""

    def __init__(self, digest: str, noted: list[dict[str, Any]]) -> None:
        self._digest, self._noted = digest, noted

    def launch_metadata(self, *_: Any) -> None:
        return None

    def run(self, x: int, y: int, z: int, *_: Any) -> None:
        if len(self._noted) < 4096:
            self._noted.append({"kernel": self._digest, "grid": [int(x), int(y), int(z)]})


class _NoDevice(DriverBase):  # type: ignore[misc,unused-ignore]  # typed only where triton is installed
    """Answers what compiling asks a driver."""

    def __init__(self, target: GPUTarget) -> None:
        super().__init__()
        self._target = target

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _: int) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        return torch.device("cpu")

    def get_benchmarker(self) -> Any:
        """An autotuner without a device cannot choose: the first configuration stands for all."""
        return lambda call, quantiles=None, **_: [1.0] * len(quantiles or [0.5])


def versions() -> dict[str, str]:
    """What figures depend on."""
    return {
        "torch": torch.__version__,
        "triton": triton.__version__,
        "interpret": os.environ.get("TRITON_INTERPRET", ""),
    }
