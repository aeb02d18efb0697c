"""Figures in the docs come from here: `python -m benchmarks.NAME` on what `make demo` installed."""
