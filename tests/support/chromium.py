"""Chromium without a window, driven over two pipes in its own protocol: real keys, real layout, no network, no other package."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.support.tools import require

#: No window, no network, and no host is named.
OPTIONS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)

#: What the protocol asks of a key beside its name.
KEYS: Final = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowUp": 38, "ArrowDown": 40, "/": 191}


def browser() -> str:
    """Chromium, wherever it is."""
    return require("chromium")


class Page:
    """One tab."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests = requests
        self._replies = replies
        self._read = b""
        self._count = 0
        self._session: str | None = None
        self.logged: list[str] = []  #: errors that the page has reported
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> Any:
        """One request of the protocol, and its result."""
        self._count += 1
        session = {"sessionId": self._session} if self._session else {}
        line = json.dumps({"id": self._count, "method": method, "params": params, **session}).encode() + b"\0"
        while line:
            line = line[os.write(self._requests, line) :]
        while True:
            told = self._next()
            if told.get("id") == self._count:
                assert "error" not in told, (method, told["error"])
                return told["result"]

    def _next(self) -> Any:
        while b"\0" not in self._read:
            piece = os.read(self._replies, 1 << 16)
            assert piece, "the browser has ended"
            self._read += piece
        line, _, self._read = self._read.partition(b"\0")
        told = json.loads(line)
        if told.get("method") == "Runtime.exceptionThrown":
            self.logged.append(json.dumps(told["params"]["exceptionDetails"])[:2000])
        elif told.get("method") == "Log.entryAdded":
            self.logged.append(told["params"]["entry"]["text"])
        return told

    def open(self, path: Path, fragment: str = "") -> None:
        """Shows a file; it is there once the page's script has come to its end."""
        self.ask("Page.navigate", url=path.as_uri() + fragment)
        self.until("document.readyState === 'complete' && performance.getEntriesByName('ready').length > 0")

    def value(self, script: str) -> Any:
        """What an expression gives, or what its promise comes to."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script: str) -> None:
        """Waits until an expression is true, as long as it takes; the test's own time-out is the end of it."""
        self.value(f"new Promise((done) => {{ const look = () => ({script}) ? done() : setTimeout(look, 10); look(); }})")

    def press(self, key: str) -> None:
        """A key goes down and up, wherever the focus is."""
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        about = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **about, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def write(self, text: str) -> None:
        """Text goes into what has the focus."""
        self.ask("Input.insertText", text=text)

    def focused(self) -> str:
        """The text of what has the focus, or its id."""
        found: str = self.value("document.activeElement.id || document.activeElement.textContent")
        return found

    def colours(self, scheme: str) -> None:
        """The reader prefers light or dark."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


@contextmanager
def opened(folder: Path) -> Iterator[Page]:
    """A browser with one tab, whose profile is in the folder."""
    requests, our_requests = os.pipe()
    our_replies, replies = os.pipe()

    # The browser's ends must be its descriptors 3 and 4, whatever they are here.
    command = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'
    options = [*OPTIONS, "--remote-debugging-pipe", "--window-size=1200,900", f"--user-data-dir={folder / 'profile'}"]
    process = subprocess.Popen(
        [require("bash"), "-c", command, str(requests), str(replies), browser(), *options],
        pass_fds=(requests, replies),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(requests)
    os.close(replies)
    try:
        yield Page(our_requests, our_replies)
    finally:
        os.close(our_requests)
        os.close(our_replies)
        process.terminate()
        process.wait(60)
