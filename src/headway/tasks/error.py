"""How far an output is from its oracle: the one measure of all kernel tasks."""

import torch


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    """||found - expected|| / ||expected|| in float64; NaN in `found` gives NaN, which passes no bar."""
    expected = expected.double()
    return float((found.double() - expected).norm() / expected.norm())
