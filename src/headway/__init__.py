"""headway: agents propose, deterministic gates decide, the event log remembers."""

__version__ = "0.1.0"
