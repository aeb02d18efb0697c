"""What MLA prefill and decode have in common on the host: sizes, the default scale, and what they refuse."""

import math

import torch

LATENT = 512
ROPE = 64
LOG2E = 1.0 / math.log(2.0)


def default_scale(head_dim: int) -> float:
    """1/sqrt of the head dim before absorption: 512 without rope, 128 + 64 with it."""
    return float((192 if head_dim > LATENT else 512) ** -0.5)


def check_layout(name: str, x: object, rank: int) -> None:
    """TypeError or ValueError unless `x` is a contiguous tensor of `rank` dims."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, not {type(x).__name__}")
    if x.dim() != rank:
        raise ValueError(f"{name} must have {rank} dims, not shape {tuple(x.shape)}")
    if not x.is_contiguous():
        raise ValueError(f"{name} must be contiguous")


def check_head_dim(q: torch.Tensor) -> None:
    """ValueError unless q's last dim is the latent one, or that and the rope dims."""
    if q.shape[-1] not in (LATENT, LATENT + ROPE):
        raise ValueError(f"q's last dim must be {LATENT} or {LATENT + ROPE} (with rope), not {q.shape[-1]}")


def check_values(q: torch.Tensor, kv: torch.Tensor, scale: float | None) -> None:
    """TypeError, ValueError or RuntimeError for dtypes, devices, addresses, gradients and scales not served."""
    if q.dtype != kv.dtype:
        raise TypeError(f"q and kv must have one dtype, not {q.dtype} and {kv.dtype}")
    if q.dtype not in (torch.bfloat16, torch.float32):
        raise TypeError(f"q must be bfloat16 or float32, not {q.dtype}")
    if q.device != kv.device:
        raise ValueError(f"q and kv must be on one device, not {q.device} and {kv.device}")
    if q.data_ptr() % 16 or kv.data_ptr() % 16:
        raise ValueError("q and kv must start on a 16-byte boundary: copy the slice with .clone()")
    if torch.is_grad_enabled() and (q.requires_grad or kv.requires_grad):
        raise RuntimeError("there is no backward: call under torch.no_grad(), or detach q and kv")
    if scale is not None and not (0.0 < scale < math.inf):
        raise ValueError(f"scale must be positive and finite, not {scale}")


def require_device(q: torch.Tensor, form: str, emulated: bool) -> None:
    """RuntimeError unless plain Triton kernels, named `form`, run on q's device; `emulated`: in the interpreter."""
    if q.device.type == "cpu" and not emulated:
        raise RuntimeError("q is on the CPU: set TRITON_INTERPRET=1 before the import, or move it to a CUDA device")
    if q.device.type not in ("cpu", "cuda"):
        raise RuntimeError(f"the {form} form runs on CUDA devices, or on the CPU interpreted; q is on {q.device}")
