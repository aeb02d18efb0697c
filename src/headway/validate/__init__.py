"""L1 / L2 / L3: how trunk is kept green, and how the test platform itself is kept honest."""
