"""Where this package's Gluon kernels run: Hopper GPUs, with the triton release that they are written for.

Gluon is Triton's lower-level language; it has no interpreter, and its programs are tied to a GPU generation.  Every
task that has Gluon kernels has plain Triton ones too, and takes those elsewhere.
"""

import torch
import triton

CAPABILITY = (9, 0)
RELEASE = (3, 6)


def why_no_gluon(device: torch.device) -> str | None:
    """What keeps the Gluon kernels from running on `device`, in words; None where they run."""
    if device.type != "cuda":
        return f"{device.type}: Gluon has no interpreter"
    capability = torch.cuda.get_device_capability(device)
    if capability != CAPABILITY:
        return f"compute capability {capability[0]}.{capability[1]}: the Gluon form is for 9.0"
    if triton_release() != RELEASE:
        return f"triton {triton.__version__}: the Gluon form is for triton {RELEASE[0]}.{RELEASE[1]}"
    return None


def triton_release() -> tuple[int, int]:
    """Major and minor number of the installed triton."""
    major, minor = triton.__version__.split(".")[:2]
    return int(major), int(minor)


def multiprocessors(device: torch.device) -> int:
    """Streaming multiprocessors of a CUDA device."""
    return int(torch.cuda.get_device_properties(device).multi_processor_count)
