"""A class with nothing of its own."""

from baseline import entry as original


class Kernel:
    run = staticmethod(original)


entry = Kernel.run
