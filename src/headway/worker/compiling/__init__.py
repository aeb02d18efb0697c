"""Compile listed Triton kernels for named architectures with the Triton that this Python has; a program of its own."""
