"""Everything that touches the world, each real implementation beside its fake."""
