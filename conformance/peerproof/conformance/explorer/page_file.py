"""The explorer's page as one file that needs no server: its scripts, its style, and the data that it shows."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final

from peerproof.conformance.adapter.form_tables import message_legend
from peerproof.conformance.diagrams.labels import visible
from peerproof.spec.forms.form import Plain
from peerproof.spec.protocols import PROTOCOLS

#: The scripts, each after those that it imports.
SCRIPTS: Final = (
    "readable.js",
    "dom.js",
    "legend.js",
    "graph.js",
    "time_line.js",
    "model_view.js",
    "run_view.js",
    "embedded.js",
    "server.js",
    "main.js",
)

_IMPORT: Final = re.compile(r"^import .*;\n", re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ", re.MULTILINE)
_LINKS: Final = re.compile(r"<link [^>]*>\n|<script [^>]*></script>\n")


def page_with(data: Mapping[str, Any], title: str = "peerproof explorer", home: str = "") -> str:
    """
    Returns the page with data: `model`, as `Walk.whole` returns it, or `runs`, a list of what `Run.whole` returns.

    `home` is the address of the page that it belongs to.

    The page loads nothing, and runs no script but its own.

    >>> "connect-src" in page_with({"runs": []})
    False
    """
    page = files(__package__) / "page"
    style = (page / "explorer.css").read_text(encoding="utf-8")
    script = script_text()
    policy = f"default-src 'none'; script-src {_source(script)}; style-src {_source(style)}; base-uri 'none'; form-action 'none'"
    protocols = {one["protocol"] for one in (*data.get("runs", ()), *filter(None, [data.get("model")]))}
    data = {**data, "legends": {protocol: legend_of(protocol) for protocol in sorted(protocols)}}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c").replace("\u2028", "\\u2028")
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>{style}</style>\n'
        f'<script type="application/json" id="data">{text}</script>\n<script type="module">{script}</script>\n'
    )
    html = _LINKS.sub("", (page / "index.html").read_text(encoding="utf-8"))
    if home:
        html = html.replace("<h1>Explorer</h1>", f'<h1><a href="{_escape(home)}">Explorer</a></h1>')
    named = html.replace("<title>peerproof explorer</title>", f"<title>{_escape(title)}</title>")
    return named.replace("</head>", f"{head}</head>")


def legend_of(protocol: str) -> dict[str, Plain]:
    """Returns what the messages of a protocol and their fields mean; nothing for an unknown protocol."""
    return message_legend(protocol) if protocol in PROTOCOLS else {}


def script_text() -> str:
    """Returns the scripts of the page as one module."""
    page = files(__package__) / "page"
    parts = [_EXPORT.sub("", _IMPORT.sub("", (page / name).read_text(encoding="utf-8"))) for name in SCRIPTS]
    return "\n".join(parts)


def _source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _escape(text: str) -> str:
    return visible(text).replace("&", "&amp;").replace("<", "&lt;")
