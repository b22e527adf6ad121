"""
What the site adds to its pages: a clause can be linked to, each mention of a clause links to it, included code is open.

An id that no page defines, and an include that was not expanded, are warnings, which fail a strict build.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

from mkdocs.utils import get_relative_url

log = logging.getLogger("mkdocs.hooks.clauses")

_SPEC = Path(__file__).parents[1] / "spec"
_DEFINITION = re.compile(r"^- \*\*([A-Z]{1,2}-\d{2,3})\*\* ", re.MULTILINE)
_DEFINED = re.compile(r"<li>(\s*(?:<p>)?)<strong>([A-Z]{1,2}-\d{2,3})</strong>")
_MENTION = re.compile(r"\b[BSWPD][A-Z]?-\d{2,3}\b")
_INCLUDE = re.compile(r"--8[^\n&]{0,3}&lt;[^\n]{0,60}|::: peerproof\.[^\n]{0,60}")  # in text without tags: code is full of them
_TAG = re.compile(r"(<[^>]*>)")
_UNTOUCHED = re.compile(r"<(/?)(pre|code|a|strong|h[1-6]|summary|title)\b")

#: Clause and the page that defines it.
_pages: dict[str, str] = {}


def on_pre_build(config: Any) -> None:  # noqa: ARG001  # MkDocs names the arguments
    """Finds out which page defines which clause."""
    _pages.clear()
    for source in sorted(_SPEC.glob("*.md")):
        for clause in _DEFINITION.findall(source.read_text(encoding="utf-8")):
            _pages[clause] = f"specification/{source.stem}/"


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001  # MkDocs names the arguments
    """Adds anchors, links and open code to a page."""
    html = html.replace('<details class="mkdocstrings-source">', '<details class="mkdocstrings-source" open>')
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
