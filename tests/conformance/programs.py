"""Programs that tests need and that Python does not bring."""

from __future__ import annotations

import shutil

#: program -> how to get it
_FROM = {
    "go": "Debian, Ubuntu: sudo apt install golang-go; macOS: brew install go; elsewhere: https://go.dev/dl",
    "node": "Debian, Ubuntu: sudo apt install nodejs; macOS: brew install node; elsewhere: https://nodejs.org",
}
_FROM["gofmt"] = _FROM["go"]


def found(program: str) -> str:
    """Where a program is. Fails with how to install it if it is not there."""
    path = shutil.which(program)
    assert path is not None, f"this test needs {program}, and there is none here. To install it: {_FROM[program]}"
    return path
