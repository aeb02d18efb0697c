"""Kimi Delta Attention (KDA), forward: two kernels in Triton, and what judges them.

`from headway.tasks.kda import kda_forward`.  Nothing here is imported before it is asked for, so importing the package
imports neither torch nor triton.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "kda_forward": "forward",
    "choose_kernels": "forward",
    "GATE_WINDOW": "call",
    "kda_reference": "reference",
    "make_case": "cases",
    "REGIMES": "cases",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
