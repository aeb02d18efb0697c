"""Long-horizon optimisation: a pinned goal, a ledger that outlives any context, gates that decide."""
