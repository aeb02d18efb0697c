"""Pure decisions over raw facts and samples that the worker brought back."""
