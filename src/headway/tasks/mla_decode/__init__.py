"""MLA decode: one query token a sequence. `mla_decode` loads torch and triton when first asked for, not before."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.tasks.mla_decode.decode import Choice, choose_form, mla_decode

__all__ = ["Choice", "choose_form", "mla_decode"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from headway.tasks.mla_decode import decode

    return getattr(decode, name)
