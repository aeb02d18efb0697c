"""The one place in headway that starts trusted processes (git, cc, ssh-keygen). Untrusted ones go through the executor.

git's environment is scrubbed: `GIT_DIR`, `GIT_INDEX_FILE` and their kin leak in from hooks and would point every
command at the wrong repository (pre-commit learnt this the hard way, its issue 300).
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.core.errors import CouldNotRun, HeadwayError

KEPT_GIT_VARIABLES = frozenset({"GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXEC_PATH", "GIT_SSL_CAINFO", "GIT_SSL_NO_VERIFY"})


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished process. `code` is negative for a signal, as in `subprocess`."""

    argv: tuple[str, ...]
    code: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """stdout as text, without the newline at its end; undecodable bytes survive as surrogates."""
        return self.stdout.decode("utf-8", "surrogateescape").rstrip("\n")

    @property
    def complaint(self) -> str:
        """git's first `fatal:` line, else the last line of stderr. After `fatal:` git may go on with common advice."""
        lines = self.stderr.decode("utf-8", "replace").strip().splitlines()
        fatal = next((line for line in lines if line.startswith("fatal: ")), "").rstrip(".")
        return fatal or lines[-1] if lines else f"exit {self.code} without a word"


class ProcessFailed(HeadwayError):
    """A trusted command exited with a code its caller did not expect."""

    def __init__(self, ran: Ran) -> None:
        shown = " ".join(ran.argv[:6]) + (" …" if len(ran.argv) > 6 else "")
        super().__init__(f"`{shown}` failed with exit code {ran.code}: {ran.complaint}")
        self.ran = ran


def scrubbed_environment(env: Mapping[str, str]) -> dict[str, str]:
    """`env` without git's repository-pointing variables, with a plain locale and no terminal prompts."""
    kept = {
        k: v
        for k, v in env.items()
        if not k.startswith("GIT_") or k in KEPT_GIT_VARIABLES or k.startswith("GIT_CONFIG_")
    }
    return {**kept, "LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0"}


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    set_env: Mapping[str, str] | None = None,
    ok: frozenset[int] | None = frozenset({0}),
    timeout: float | None = None,
) -> Ran:
    """Run to the end and return everything it said.

    `env` (default: this process's own) is scrubbed; `set_env` is added after that, as it is. `ok=None` accepts any
    exit code. Raises ProcessFailed for another code, CouldNotRun if it is absent or outlives `timeout` seconds.
    """
    environment = {**scrubbed_environment(os.environ if env is None else env), **(set_env or {})}
    try:
        done = subprocess.run(
            argv, cwd=cwd, input=stdin, env=environment, capture_output=True, timeout=timeout, check=False
        )
    except FileNotFoundError as missing:
        if cwd is not None and not cwd.is_dir():
            raise HeadwayError(f"The folder {cwd} does not exist.") from missing
        raise CouldNotRun(
            f"The program {argv[0]!r} is not installed.", f"Install {argv[0]} and try again."
        ) from missing
    except subprocess.TimeoutExpired as late:
        raise CouldNotRun(f"`{' '.join(argv[:4])}` did not end within {timeout:g} s.") from late
    ran = Ran(tuple(argv), done.returncode, done.stdout, done.stderr)
    if ok is not None and ran.code not in ok:
        raise ProcessFailed(ran)
    return ran
