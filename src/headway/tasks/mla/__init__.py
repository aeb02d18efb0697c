"""MLA prefill in latent form. `mla_prefill` and `choose_form` load torch and triton when asked for, not before."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.tasks.mla.prefill import Choice, choose_form, mla_prefill

__all__ = ["Choice", "choose_form", "mla_prefill"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from headway.tasks.mla import prefill

    return getattr(prefill, name)
