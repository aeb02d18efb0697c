"""Asks someone on the network."""

import socket

peer = socket.create_connection(("127.0.0.1", 9999), timeout=1)


def entry(x):
    return x
