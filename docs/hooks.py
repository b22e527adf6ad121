"""
What the site adds to its pages: diagrams as SVG, links to clauses, open code.

A clause that no page defines, an include that was not expanded, a link that leads nowhere and a file that would be loaded from
another host are warnings, which fail a strict build.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

from flowchart import render_flowchart
from mkdocs.structure.files import File
from mkdocs.utils import get_relative_url
from site_check import find_faults

from peerproof.conformance.diagrams import MessageGraph, render_svg
from peerproof.conformance.explorer.page_file import page_with
from peerproof.conformance.explorer.walk import Walk

log = logging.getLogger("mkdocs.hooks.clauses")

_SPEC = Path(__file__).parents[1] / "spec"
_DEFINITION = re.compile(r"^- \*\*([A-Z]{1,2}-\d{2,3})\*\* ", re.MULTILINE)
_DEFINED = re.compile(r"<li>(\s*(?:<p>)?)<strong>([A-Z]{1,2}-\d{2,3})</strong>")
_MENTION = re.compile(r"\b[BSWPD][A-Z]?-\d{2,3}\b")
_INCLUDE = re.compile(r"--8[^\n&]{0,3}&lt;[^\n]{0,60}|::: peerproof\.[^\n]{0,60}")  # in text without tags: code is full of them
_TAG = re.compile(r"(<[^>]*>)")
_UNTOUCHED = re.compile(r"<(/?)(pre|code|a|strong|h[1-6]|summary|title)\b")

_DIAGRAM = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)

#: Protocol, and the configuration of it that can be explored on the site: small, and something happens in it.
_EXPLORED = {
    "scuttlebutt": "tiny",
    "swim": "tiny",
    "wendy": "small-churn",
    "peter": "small-churn",
    "distkv": "small-conflict-1",
}

#: Clause and the page that defines it.
_pages: dict[str, str] = {}


def on_pre_build(config: Any) -> None:  # noqa: ARG001  # MkDocs names the arguments
    """Finds out which page defines which clause."""
    _pages.clear()
    for source in sorted(_SPEC.glob("*.md")):
        for clause in _DEFINITION.findall(source.read_text(encoding="utf-8")):
            _pages[clause] = f"specification/{source.stem}/"


def on_files(files: Any, config: Any) -> Any:
    """Adds the explorer of a small cluster of each protocol, a file that needs no server."""
    for protocol, model in _EXPLORED.items():
        text = page_with(
            {"model": Walk(protocol, model).whole()}, f"{protocol}: explore a small cluster", f"../specification/{protocol}/"
        )
        files.append(File.generated(config, f"explore/{protocol}.html", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001  # MkDocs names the arguments
    """Replaces each diagram by its picture."""
    name = re.sub(r"\W+", "-", page.file.src_uri)
    count = iter(range(len(markdown)))
    return _DIAGRAM.sub(lambda found: _picture(found[1], f"{name}-{next(count)}"), markdown)


def _picture(diagram: str, name: str) -> str:
    if diagram.startswith("flowchart"):
        svg = render_flowchart(diagram, name)
    else:
        svg = render_svg(MessageGraph.from_mermaid(diagram), name=name)
    return f'<div class="picture">{svg.replace(chr(10), "")}</div>\n'


def on_post_build(config: Any) -> None:
    """Checks what was built."""
    for fault in find_faults(Path(config["site_dir"])):
        log.warning(fault)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001  # MkDocs names the arguments
    """Adds anchors, links and open code to a page."""
    html = html.replace('<details class="mkdocstrings-source">', '<details class="mkdocstrings-source" open>')
    protocol = page.url.removeprefix("specification/").strip("/")
    if protocol in _EXPLORED:
        address = get_relative_url(f"explore/{protocol}.html", page.url)
        html = html.replace("</h1>", f'</h1>\n<p><a href="{address}">Explore a small cluster in the browser</a></p>', 1)
    if page.url.startswith("specification/"):
        html = _DEFINED.sub(r'<li id="\2">\1<strong>\2</strong>', html)
    if unexpanded := _INCLUDE.search(_TAG.sub("", html)):
        log.warning("%s shows %r, which should have been expanded", page.file.src_uri, unexpanded[0])
    parts = _TAG.split(html)
    within = 0  # elements whose text stays as it is
    for index, part in enumerate(parts):
        if tag := _UNTOUCHED.match(part):
            within += -1 if tag[1] else 1
        elif within == 0 and not part.startswith("<"):
            parts[index] = _MENTION.sub(lambda mention: _link(mention[0], page), part)
    return "".join(parts)


def _link(clause: str, page: Any) -> str:
    if clause not in _pages:
        log.warning("%s mentions %s, which no specification defines", page.file.src_uri, clause)
        return clause
    return f'<a href="{get_relative_url(_pages[clause], page.url)}#{clause}">{clause}</a>'
