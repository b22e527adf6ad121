"""
How fluid the time line of a long trace is: a hundred nodes, ten thousand events, in a real browser.

    python tests/benchmarks/time_line.py

Time runs from a click until the page shows the new step, as the browser measures it: to the next step, to a step anywhere, and a
zoom of the time line; median and worst. The baseline is the same page with three nodes and a hundred events. It needs Chromium.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from _ratios import target
from playwright.sync_api import Page, expect, sync_playwright
from tests.support.tools import require

from peerproof.cli.main import main as peerproof
from peerproof.conformance.diagrams.message_graph import Excerpt
from peerproof.conformance.explorer.serve import Explorer
from peerproof.conformance.explorer.trace_run import run_traces

CLICKS = 60
EVENTS = 10_000
FLUID = 100  #: milliseconds that a person takes for an immediate answer

#: Milliseconds from a change of the address until the page shows that step.
JUMP = """(step) => new Promise((done) => {
  const start = performance.now();
  const shown = () => document.getElementById('said').textContent.startsWith(`Step ${step + 1} `);
  const look = () => shown() ? done(performance.now() - start) : requestAnimationFrame(look);
  location.hash = `run/0/${step}`;
  look();
})"""

#: Milliseconds of one turn of the wheel over the time line.
ZOOM = """() => {
  const line = document.getElementById('line');
  const start = performance.now();
  line.dispatchEvent(new WheelEvent('wheel', { deltaY: -10, clientX: 600, clientY: 200, cancelable: true }));
  return performance.now() - start;
}"""


def main() -> None:
    """Prints a line for each trace."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=require("chromium"), args=["--no-sandbox"])
        baseline = 0.0
        for nodes, rounds, most in ((3, 20, 100), (100, 25, EVENTS)):
            trace = Path(folder, f"{nodes}.jsonl")
            options = ["--nodes", str(nodes), "--rounds", str(rounds), "--trace", str(trace), "--quiet"]
            peerproof(["node", "simulate", "scuttlebutt", *options])
            with served(trace, most) as address:
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                start = time.perf_counter()
                page.goto(f"{address}#run/0/0")
                expect(page.get_by_role("status")).to_contain_text("Step 1 of", timeout=120_000)
                opening = time.perf_counter() - start
                following, anywhere, zooming = measured(page, most)
            baseline = baseline or median(following)
            print(
                f"{nodes} nodes, {most:,} events: open in {opening:.1f} s; to the next step {format_times(following)}, "
                f"{median(following) / baseline:.1f} times that of 3 nodes; anywhere {format_times(anywhere)}; "
                f"zoom {format_times(zooming)}  "
                f"{target(max(median(following), median(anywhere), median(zooming)), most=FLUID)}"
            )


def measured(page: Page, most: int) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds of clicks to the next step, to steps all over the trace, and of turns of the wheel."""
    following = [page.evaluate(JUMP, most // 2 + step) for step in range(min(CLICKS, most // 3))]
    anywhere = [page.evaluate(JUMP, step * 7919 % most) for step in range(1, CLICKS)]
    return following, anywhere, [page.evaluate(ZOOM) for _ in range(CLICKS)]


def format_times(times: list[float]) -> str:
    """Median and worst."""
    return f"{median(times):.0f} ms, worst {max(times):.0f}"


@contextmanager
def served(trace: Path, most: int) -> Iterator[str]:
    """The address of the explorer of a trace."""
    with Explorer(runs={"trace": partial(run_traces, [trace], None, Excerpt(most=most))}) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.address
        server.shutdown()


if __name__ == "__main__":
    main()
