"""What stands where a launch has tensors and a device, and how a kernel's file is imported without torch."""

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import sys
import types
from typing import Any, ClassVar

STAND_INS = ("torch",)
"""Host code beside a kernel imports it; the kernel does not need it. Absent, its names exist and cannot be called."""
DESCRIPTOR = re.compile(r"(\w+)\[(\d+(?:, *\d+)*)\]")


class CannotRun(Exception):
    """The toolchain or the list is at fault, not the compiler's treatment of a kernel."""


class NoDevice:
    """Answers what compiling asks a driver; nothing can be launched."""

    def __init__(self, arch: int) -> None:
        from triton.backends.compiler import GPUTarget

        self._target = GPUTarget("cuda", arch, 32)

    def get_current_target(self) -> Any:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _: int) -> int:
        return 0

    def get_benchmarker(self) -> Any:
        return lambda *_, **__: [1.0, 1.0, 1.0]

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty


class Pointer:
    """Stands where a launch has a tensor: an element type, and an address that 16 divides, as allocators give."""

    def __init__(self, element: str) -> None:
        self.dtype = ElementType(element)

    @staticmethod
    def data_ptr() -> int:
        return 0

    @staticmethod
    def ptr_range() -> int:
        return 0


class ElementType:
    """Reads as a torch dtype does."""

    NAMES: ClassVar[dict[str, str]] = {
        "fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64", "i1": "bool", "i8": "int8",
        "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
        "u64": "uint64", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2",
    }  # fmt: skip

    def __init__(self, element: str) -> None:
        if element not in self.NAMES:
            raise CannotRun(f"'*{element}' is no pointer type; known: {', '.join('*' + one for one in self.NAMES)}")
        self._name = self.NAMES[element]
        digits = re.search(r"\d+", element)
        self.itemsize = max(1, int(digits[0]) // 8) if digits else 1

    def __str__(self) -> str:
        return f"torch.{self._name}"


def argument(value: Any) -> Any:
    """'*fp32' is a pointer, 'bf16[64, 128]' a tensor descriptor of such blocks; else the scalar of the launch."""
    if not isinstance(value, str):
        return value
    if value.startswith("*"):
        return Pointer(value[1:])
    if block := DESCRIPTOR.fullmatch(value):
        return descriptor(Pointer(block[1]), [int(size) for size in block[2].split(",")])
    raise CannotRun(f"{value!r} is no argument; give a pointer like '*fp32', a block like 'bf16[64, 128]' or a number")


def descriptor(base: Any, block: list[int]) -> Any:
    """A host-side tensor descriptor, of a tensor that is contiguous and larger than its blocks."""
    try:
        from triton.tools.tensor_descriptor import TensorDescriptor
    except ImportError:
        raise CannotRun("this release of Triton has no tensor descriptors on the host") from None
    shape = [4096] * len(block)
    strides = [4096 ** (len(block) - 1 - place) for place in range(len(block))]
    return TensorDescriptor(base, shape, strides, block)


def constant(value: Any) -> Any:
    """'tl.float16' is that type of triton.language; anything else is itself."""
    if isinstance(value, str) and value.startswith("tl."):
        import triton.language as tl

        return getattr(tl, value[3:])
    return value


def load(path: str, name: str) -> tuple[Any, list[str]]:
    """(the kernel, which packages were stood in for). Decorators like autotune are taken off."""
    if not os.path.exists(path):
        raise CannotRun(f"there is no file {os.path.basename(path)}")
    stand_in = StandIn()
    sys.path.insert(0, os.path.dirname(path))
    sys.meta_path.append(stand_in)
    module_name = "listed_" + hashlib.sha256(path.encode()).hexdigest()[:12]
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None and spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as trouble:
        raise CannotRun(f"the kernel's file cannot be imported: {first_line(trouble)}") from None
    finally:
        sys.meta_path.remove(stand_in)
    for one in [one for one in sys.modules if one.partition(".")[0] in stand_in.used]:
        del sys.modules[one]  # Triton must not take it for the real one
    function: Any = getattr(module, name, None)
    while type(function).__name__ in ("Autotuner", "Heuristics"):
        function = function.fn
    if not hasattr(function, "warmup"):
        raise CannotRun(f"{os.path.basename(path)} has no Triton kernel {name}")
    return function, sorted(stand_in.used)


class StandIn(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last in the search: gives an empty package for one of STAND_INS that is not installed."""

    def __init__(self) -> None:
        self.used: set[str] = set()
        # a package that is there may look for optional parts of its own, and must not find ours
        self._absent = [name for name in STAND_INS if importlib.util.find_spec(name) is None]

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in self._absent:
            return None
        self.used.add(fullname.partition(".")[0])
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return AbsentModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


class NoTorch(importlib.abc.MetaPathFinder):
    """First in the search: torch is not there, for whoever has not imported it by now."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname == "torch":
            raise ModuleNotFoundError("torch is not needed here", name=fullname)


class AbsentModule(types.ModuleType):
    """Any name can be looked up, so that annotations and default values work."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")


class Absent:
    """Something of a package that is not there."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")

    def __or__(self, other: Any) -> "Absent":
        return self

    __ror__ = __or__

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise CannotRun(f"{self._name} is called while the kernel's file is imported, and is not installed")


def first_line(trouble: BaseException) -> str:
    """The message's first line that says something, with the kind of error."""
    return f"{type(trouble).__name__}: {telling(str(trouble))}"[:400]


def telling(text: str) -> str:
    """The line that says most: one with "fatal", else one with "error", else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (
        [line for word in ("fatal", "llvm error", "error") for line in lines if word in line.lower()] + lines + [""]
    )[0]
