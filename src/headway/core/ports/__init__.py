"""Ports: what the rooms ask of the world, each with its request and result types. At most five methods each."""
