"""The one way headway calls git: always with a fixed repository, plain output, no hooks and no background upkeep.

Hooks are off unless a caller asks for the owner's (`git_landing.py` does, for two of them); git's automatic `gc` and
`maintenance` would change the owner's repository behind his back.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from headway.adapters.processes import Ran, run, scrubbed_environment

QUIET = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "advice.detachedHead=false")
NO_HOOKS = ("-c", f"core.hooksPath={os.devnull}")


class Git:
    """git in one repository. `directory` may be a work tree or a bare repository."""

    def __init__(self, directory: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self._set = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1", **(env or {})}

    def run(
        self,
        *args: str,
        stdin: bytes = b"",
        ok: frozenset[int] | None = frozenset({0}),
        env: Mapping[str, str] | None = None,
        hooks: bool = False,
        timeout: float | None = None,
    ) -> Ran:
        """One git command. Raises ProcessFailed for an exit code outside `ok` (`None`: any is accepted)."""
        return run(
            self.argv(*args, hooks=hooks),
            cwd=self.directory,
            stdin=stdin,
            ok=ok,
            set_env={**self._set, **(env or {})},
            timeout=timeout,
        )

    def text(self, *args: str, stdin: bytes = b"") -> str:
        """stdout without its last newline, undecodable bytes as surrogates."""
        return self.run(*args, stdin=stdin).text

    def argv(self, *args: str, hooks: bool = False) -> tuple[str, ...]:
        """The whole command line of a git command."""
        return ("git", *QUIET, *(() if hooks else NO_HOOKS), *args)

    def environment(self) -> dict[str, str]:
        """The environment its children see; for long-lived readers of the same repository."""
        return {**scrubbed_environment(os.environ), **self._set}


def without_user_info(source: str) -> str:
    """A URL without the user-info part, where people keep tokens."""
    scheme, separator, rest = source.partition("://")
    if not separator:
        return source
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
