"""The jinja2 environment of all HTML pages: output is escaped, and a missing name is an error."""

from __future__ import annotations

import re
import zlib
from base64 import b64encode
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import version
from sys import maxsize
from typing import Any, Final

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from peerproof.conformance.diagrams.labels import visible
from peerproof.conformance.diagrams.svg import render_svg

_MARKUP: Final = re.compile(r"`([^`]+)`|\*([^*]+)\*")


def make_environment(*packages: str, scripts: Iterable[str] = (), longest: int = maxsize) -> Environment:
    """
    An environment with the templates of `packages` and the shared ones of this package; `scripts` become the page's only script.

    Every value passes three steps on its way into the page. Characters that are invisible or that change the direction of the
    text are written out (`visible`), a text of more than `longest` characters is cut, and the result is escaped. A template
    exempts a value with `| safe`; it does so for SVG, base64 and the page's own stylesheets and scripts only.
    """

    def finalize(value: Any) -> Any:
        if hasattr(value, "__html__"):
            return value
        text = visible(str(value))
        return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"

    loader = ChoiceLoader([PackageLoader(package, "") for package in (*packages, __name__.rpartition(".")[0])])

    def source(name: str) -> Markup:
        """Returns a file unchanged: it is no template, so braces have no meaning."""
        return Markup(loader.get_source(environment, name)[0])

    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, finalize=finalize, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": True, "separators": (",", ":")}
    environment.globals |= {"source": source, "script": Markup().join(map(source, scripts)), "version": version("peerproof")}
    environment.filters |= {"number": format_number, "csp_hash": hash_for_csp, "packed": pack_text, "svg": render_svg}
    environment.filters["prose"] = render_prose
    return environment


def format_number(value: float) -> str:
    """
    A number with commas between thousands, a fraction with four significant digits.

    >>> [format_number(value) for value in (1234567, 1234.0, 12.34567, 98765.4)]
    ['1,234,567', '1,234', '12.35', '98,765']
    """
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.4g}" if value != round(value) and abs(value) < 10_000 else f"{value:,.0f}"  # noqa: PLR2004


def render_prose(text: str) -> Markup:
    """
    The text of a clause, escaped: code between backticks and emphasis between asterisks become elements; so does report.js.

    >>> print(render_prose("A *present* entry has `a < b`."))
    A <em>present</em> entry has <code>a &lt; b</code>.
    """
    parts, end = Markup(), 0
    for found in _MARKUP.finditer(text):
        element = Markup("<code>{}</code>") if found[1] else Markup("<em>{}</em>")
        parts += visible(text[end : found.start()])
        parts += element.format(visible(found[1] or found[2]))
        end = found.end()
    return parts + visible(text[end:])


def pack_text(text: str) -> str:
    """Deflates a text, as base64; `inflate` in shared.js unpacks it."""
    return b64encode(zlib.compress(text.encode())).decode()


def hash_for_csp(script: str) -> str:
    """The hash by which a Content-Security-Policy allows an inline script."""
    return f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}"
