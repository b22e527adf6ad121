"""
How soon the page of ten thousand vectors is there, in a real browser, beside the same page with one vector.

    python tests/benchmarks/report_page.py

A thousand of the vectors fail, or all of them. Time runs from the navigation until the list of cases is drawn, and from a letter
in the filter until the list is drawn anew: medians of several rounds, as the browser measures them. It needs Chromium.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

from _ratios import target
from playwright.sync_api import sync_playwright
from tests.support.reports import many
from tests.support.tools import require

from peerproof.conformance.report.html.page import page

ROUNDS = 5
VECTORS = 10_000
TARGET = 2_000  #: milliseconds until it is open

#: Milliseconds from a change of the filter until the list is drawn.
FILTERING = """() => {
  const start = performance.now();
  field('text').value = 'v-99';
  refresh();
  document.body.getBoundingClientRect();
  return performance.now() - start;
}"""


def main() -> None:
    """Prints a line for each page."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=require("chromium"), args=["--no-sandbox"])
        tab = browser.new_page()

        def measured(count: int, failing: int) -> tuple[float, float, float]:
            """Milliseconds to open and to filter, and megabytes."""
            file = Path(folder) / "page.html"
            file.write_text(page([many(count, failing)], {}), encoding="utf-8")
            opening, filtering = [], []
            for _ in range(ROUNDS):
                tab.goto("about:blank")
                tab.goto(f"{file.as_uri()}#tab=cases")
                opening.append(tab.evaluate("performance.getEntriesByName('ready')[0].startTime"))
                filtering.append(tab.evaluate(FILTERING))
            return median(opening), median(filtering), file.stat().st_size / 1e6

        least, _, _ = measured(1, 1)
        for failing in (VECTORS // 10, VECTORS):
            opening, filtering, size = measured(VECTORS, failing)
            print(
                f"{VECTORS:,} vectors, {failing:6,} failing: open in {opening:6.0f} ms, {opening / least:.1f} times a page of "
                f"one vector, {least:.0f} ms; filtered in {filtering:.0f} ms; {size:.1f} MB  {target(opening, most=TARGET)}"
            )
        browser.close()


if __name__ == "__main__":
    main()
