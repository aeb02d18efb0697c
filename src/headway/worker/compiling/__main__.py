"""Starts the job from its folder: `python -I .../compiling JOB.json OUT`, with any Python that has a Triton.

The folder is loaded as a package under a name of its own: nothing of headway is imported, nor numpy, nor torch.
"""

import importlib
import importlib.util
import os
import sys

NAME = "headway_compiling"


def _load() -> None:
    folder = os.path.dirname(os.path.abspath(__file__))
    spec = importlib.util.spec_from_file_location(
        NAME, os.path.join(folder, "__init__.py"), submodule_search_locations=[folder]
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = module
    spec.loader.exec_module(module)
    sys.path[:] = [place for place in sys.path if os.path.abspath(place or ".") != folder]


_load()
sys.exit(importlib.import_module(NAME + ".batch").main(sys.argv[1:]))
