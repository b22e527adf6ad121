"""
What the pages of `docs/explanation` show of the models: pictures of the counterexamples, and the graphs that were compared.

    python docs/models.py [--check]

Both stand between marks; the words around them are written by hand. `--check` ends with 1 if a page is not what the models make.
"""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser
from pathlib import Path

from peerproof.conformance.counterexamples import answered, drawn, is_asked, replayed, stored
from peerproof.tla.manifest import Model, configurations, models

PAGES = [Path(__file__).parent / "explanation" / name for name in ("counterexamples.md", "shown.md")]

_PICTURE = re.compile(r"(<!-- model ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_GRAPHS = re.compile(r"(<!-- graphs ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> int:
    """Writes the pages, or says whether they are as they should be."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    only_check = parser.parse_args().check
    stale = 0
    for path in PAGES:
        written = path.read_text(encoding="utf-8")
        made = page(written)
        stale |= made != written
        if not only_check:
            path.write_text(made, encoding="utf-8")
    return int(only_check and stale)


def page(text: str) -> str:
    """The page with what is made from the models made again. Raises KeyError for a model that there is not."""
    known = {model.name: model for model in models()}
    text = _PICTURE.sub(lambda found: f"{found[1]}{picture(known[found[2]])}\n{found[3]}", text)
    return _GRAPHS.sub(lambda found: f"{found[1]}{graphs(found[2])}\n{found[3]}", text)


def graphs(protocol: str) -> str:
    """The configurations whose whole graphs are known: their size, and who has explored them."""
    asked = models(protocol)
    lines = [
        "| configuration | | states | edges | graphs compared | in the end, views are equal |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, one in configurations(protocol).items():
        of = [model for model in asked if model.configuration.name == name and not model.replace]
        if not any(model.is_whole_graph for model in of):
            continue
        counts = one.expected
        compared = any(model.is_whole_graph and model.size != "large" for model in of)
        verdicts = {model.verdict == "success" for model in of if "Converges" in model.properties and model.behaviour == "Next"}
        lines.append(
            f"| {name} | {one.about} | {counts['distinct']:,} | {counts['generated'] - counts['initial']:,} "
            f"| {'equal' if compared else 'no'} | {'yes' if verdicts == {True} else 'no' if verdicts else '–'} |"
        )
    return "\n".join(lines)


def picture(model: Model) -> str:
    """What is asked, and how it fails."""
    if is_asked(model):
        answer = answered(model)
        graph, path = answer.graph, answer.path
        ends = f"then for ever within {answer.trap.size:,} states" if answer.trap else ""
    else:
        example = stored(model)
        graph, path = replayed(model, example)
        ends = "" if example.loop is None else f"then again and again from after step {example.loop}"
    if model.by == "tlc" and model.verdict == "invariant":
        graph, path = replayed(model, stored(model))  # both found one of this length; TLC's is the one that is kept
    steps = f"`{model.violated}` is violated in {len(path)} steps" + (f", {ends}" if ends else "")
    where = f"`{model.name}`, configuration `{model.configuration.name}`" + "".join(
        f", `{right}` in place of `{left}`" for left, right in model.replace.items()
    )
    lines = [f"{where}: {steps}.", "", "```mermaid", drawn(graph, path).mermaid(), "```"]
    return "\n".join(lines if path else lines[:1])


if __name__ == "__main__":
    sys.exit(main())
