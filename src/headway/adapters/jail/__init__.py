"""What runs between headway and an untrusted command: a small supervisor in a process of its own.

Standard library only; it imports nothing else of headway. `supervisor.py` is the story; `namespaces.py`, `landlock.py`
and `seccomp.py` are one layer each; `kernel.py` holds the system calls that Python has no name for. It is started once
per command, so it imports only what is built in: pathlib, typing, json and socket would cost more than all its work.
"""
