"""The two ways headway ends without a bug: the user can fix it (exit 1), or nothing could be decided (exit 4).

Anything else that escapes is a bug: exit 3 and a log file.
"""


class HeadwayError(Exception):
    """A refusal or a user error: one sentence naming the thing, one naming the fix. Exit code 1."""

    exit_code = 1

    def __init__(self, message: str, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} {self.fix}".strip()


class CouldNotRun(HeadwayError):
    """Nothing was decided: a compiler, device, network or peer is absent or broken. Exit code 4."""

    exit_code = 4
