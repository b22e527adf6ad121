"""What a page's Content-Security-Policy refuses if a text has become more than text."""

from __future__ import annotations

from typing import Any, Final

from playwright.sync_api import Browser

#: The directives by which each attempt of `_ATTEMPTS` is refused.
FORBIDDEN: Final = ["connect-src", "frame-src", "img-src", "script-src-attr", "script-src-elem"]

#: A script, an image, a frame, a handler and a request to another server.
_ATTEMPTS: Final = """async () => {
  const refused = new Set();
  document.addEventListener("securitypolicyviolation", (event) => refused.add(event.effectiveDirective));
  const script = document.createElement("script");
  script.textContent = "document.title = 'owned'";
  document.body.append(script);
  document.body.insertAdjacentHTML("beforeend", `<img src="https://example.org/x.png">
    <iframe src="https://example.org/"></iframe><button id="evil" onclick="document.title = 'owned'">x</button>`);
  document.getElementById("evil").click();
  await fetch("https://example.org/").catch(() => {});
  await new Promise((done) => setTimeout(done, 200));
  return [...refused].sort();
}"""


def what_is_refused(browser: Browser, address: str) -> Any:
    """The directives of the policy that refuse something; nothing may get through."""
    tab = browser.new_page()
    tab.goto(address)
    failures: list[str | None] = []
    tab.on("requestfinished", lambda _: failures.append(None))
    tab.on("requestfailed", lambda request: failures.append(request.failure))
    refused = tab.evaluate(_ATTEMPTS)
    assert set(failures) <= {"csp"}
    assert tab.title() != "owned"
    tab.close()
    return refused
