"""What a developer needs when headway itself is wrong: versions, the command, the traceback. Written to a file."""

import os
import platform
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path

from headway import __version__


def write_bug_report(argv: list[str]) -> Path:
    """Write the current exception to a new file and return its path."""
    handle, name = tempfile.mkstemp(prefix="headway-bug-", suffix=".log")
    # The command line is kept without its values' secrets: user-info in a URL is the one place people put them.
    shown = [part if "@" not in part or "://" not in part else part.split("://", 1)[0] + "://***" for part in argv]
    lines = [
        f"headway {__version__} on Python {platform.python_version()}, {platform.platform()}",
        f"at {datetime.now(UTC).isoformat()}",
        f"command: headway {' '.join(shown)}",
        "",
        traceback.format_exc(),
    ]
    with os.fdopen(handle, "w") as file:
        file.write("\n".join(lines))
    return Path(name)
