"""Programs under Triton's interpreter, without four seconds of imports for each.

TRITON_INTERPRET is read when triton is imported and turns every kernel of the process into Python, so what interprets
cannot share a process with what compiles. One process imports torch and triton in that mode; each program is a fork of
it. Run as a program, this is that process: one JSON request a line in, one JSON answer a line out.
"""

import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent


class Interpreting:
    """Runs programs of this repository in forks of one process; ends it with `close`."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(ROOT), *sys.path])
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": path},
        )

    def run(self, script: Path, *arguments: str) -> Any:
        """What `script` prints last, read as JSON. Fails with its errors if it does not end with 0."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(script), *arguments]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the interpreting process ended; its error stands above"
        told = json.loads(line)
        assert told["code"] == 0, told["errors"][-2000:]
        return json.loads(told["output"].splitlines()[-1])

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()


def serve() -> None:
    """Fork, run, answer; until there are no more requests."""
    import torch
    import triton
    import triton.language  # noqa: F401

    torch.set_num_threads(1)  # small tensors; and threads do not outlive a fork
    for line in sys.stdin:
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            pid = os.fork()
            if pid == 0:
                os._exit(_run(json.loads(line), output.fileno(), errors.fileno()))
            _, status = os.waitpid(pid, 0)
            output.seek(0), errors.seek(0)
            told = {"output": output.read().decode(), "errors": errors.read().decode()}
        print(json.dumps({"code": os.waitstatus_to_exitcode(status), **told}), flush=True)


def _run(command: list[str], output: int, errors: int) -> int:
    os.dup2(output, 1)
    os.dup2(errors, 2)
    sys.argv = command
    try:
        runpy.run_path(command[0], run_name="__main__")
    except SystemExit as end:
        return int(end.code or 0)
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    serve()
