"""Tasks that ship: data, loaded by path in the worker. Importing this package imports neither torch nor triton."""
