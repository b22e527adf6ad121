"""The explorer in a real browser: what one clicks happens, the address has the path, and the way back is there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tests.support.tools import require

from peerproof.conformance.explorer.serve import Explorer

pytestmark = [pytest.mark.slow, pytest.mark.browser]

SCREENS = Path("build/screens")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """That of a running explorer."""
    with Explorer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.address
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=require("chromium"), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab, in which nothing may go wrong unseen."""
    problems: list[str] = []
    tab = browser.new_page()
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.on("console", lambda line: problems.append(line.text) if line.type == "error" else None)
    yield tab
    tab.close()
    assert problems == []


def test_a_newcomer_makes_a_node_send_and_another_receive(page: Page, address: str) -> None:
    """From nothing but the address: a protocol is chosen, a timer runs out, a message arrives, and the path is in the address."""
    page.goto(address)
    page.locator("#protocol").select_option("scuttlebutt")
    page.locator("#model").select_option("tiny")
    node = page.locator("article[data-node='2']")
    node.get_by_role("button", name="timer round").click()
    expect(page.get_by_role("status")).to_have_text("Step 1. 2: timer round")
    expect(page.locator("#net li")).to_contain_text("2 → 1: digest_request")

    page.get_by_role("button", name="Deliver", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("Step 2. deliver 2 → 1")
    expect(page.locator("article[data-node='1'] tr.changed")).not_to_have_count(0)
    expect(page.get_by_role("img", name="Message graph")).to_be_visible()
    there = page.url

    page.go_back()
    expect(page.get_by_role("status")).to_contain_text("Step 1.")
    page.go_forward()
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("status")).to_have_text("All nodes have just started.")
    page.goto(there)
    expect(page.get_by_role("status")).to_contain_text("Step 2. deliver 2 → 1")


def test_the_shortest_way_to_a_violation_shows_it_in_red(page: Page, address: str) -> None:
    page.goto(f"{address}#scuttlebutt/BX-01-round-sync/")
    page.locator("#way").select_option("SameView")

    expect(page.locator("#properties .broken")).to_contain_text("SameView does not hold")
    expect(page.locator("#steps li")).to_have_count(3)
    page.locator("#steps button").first.click()
    expect(page.locator("#steps li")).to_have_count(1)
    expect(page.locator("#properties .broken")).to_have_count(0)


def test_a_path_that_leads_nowhere_is_told(browser: Browser, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}#swim/small-a/beef")

    expect(page.get_by_role("status")).to_have_text("there is no move 'beef' at step 1 of the path")


@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_a_screen_in_the_light_and_in_the_dark(
    browser: Browser, address: str, width: int, scheme: str
) -> None:
    """Nothing reaches beyond the window but the message graph, which scrolls; pictures are kept."""
    SCREENS.mkdir(parents=True, exist_ok=True)
    tab = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="dark" if scheme == "dark" else "light")
    tab.goto(f"{address}#swim/small-a/")
    tab.locator("article button").first.click()
    expect(tab.get_by_role("img", name="Message graph")).to_be_visible()

    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    tab.screenshot(path=SCREENS / f"explorer-{width}-{scheme}.png", full_page=True)
    tab.close()
