"""Exit codes, and an error with a tip. This module imports nothing, since every start of the program loads it."""

OK, FAILED, USAGE, UNUSABLE, NOTHING, OWN_FAULT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class Refusal(Exception):
    """Ends a command with an error on standard error, a tip, and an exit code."""

    def __init__(self, message: str, code: int = USAGE, *, tip: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.tip = tip  #: what to do next, if the message does not say so
