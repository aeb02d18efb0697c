"""Pure values and rules that several rooms share. No I/O: everything that touches the world is behind a port."""
