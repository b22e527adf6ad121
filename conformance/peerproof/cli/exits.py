"""How a command ends: its exit codes, and a refusal. It imports nothing, since every start of the program loads it."""

OK, FAILED, USAGE, UNUSABLE, NOTHING, OWN_FAULT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class Refusal(Exception):
    """Ends a command with a message on standard error, and an exit code."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code
