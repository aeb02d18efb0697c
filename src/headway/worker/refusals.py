"""How a job ends without figures: the candidate is refused, or nothing could be decided."""


class Refused(Exception):
    """The candidate's fault. `code` is one of headway's reason codes."""

    def __init__(self, code: str, message: str, advice: str) -> None:
        super().__init__(message)
        self.code, self.message, self.advice = code, message, advice


class CouldNotRun(Exception):
    """Not the candidate's fault: a broken task, no compiler, no device, a machine without memory."""

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.advice = code, message, advice
