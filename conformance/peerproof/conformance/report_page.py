"""
Reports as one HTML page: implementations by clauses, a filter, every failing case with its picture, and what else is known.

It needs no network and no second file, and may load none: its own policy says so, and lets run no script but the one that is
written here. It opens fast because nothing is drawn before somebody can see it.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from math import floor
from typing import Any

from peerproof.conformance import transports
from peerproof.conformance.report import Report
from peerproof.conformance.report_data import PageData, text
from peerproof.conformance.result import STATUSES


@dataclass(frozen=True)
class Beside:
    """What a page shows beside the reports, as far as there is any."""

    mutants: Mapping[str, Any] | None = None  #: what `peerproof mutants --format json` prints
    edges: Mapping[str, Any] | None = None  #: what `peerproof report edges` prints
    remarks: Sequence[str] = field(default_factory=tuple)


def page(reports: Sequence[Report], titles: Mapping[str, str], beside: Beside | None = None) -> str:
    """The whole page."""
    beside = beside or Beside()
    data = PageData(reports, titles)
    script = _resource("report_page.js")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>peerproof: {text(', '.join(data.labels))}</title>\n<style>\n{_resource('report_page.css')}</style>\n</head>",
            '<body>\n<a class="skip" href="#text">To the filter</a>\n<a class="skip" href="#list">To the cases</a>',
            "<header>\n<h1>peerproof report</h1>",
            *_header(data, beside),
            "</header>\n<main>",
            *_section("cases", "Cases", _cases(data)),
            *_section("clauses", "Implementations by clauses", _matrices(data)),
            *_section("behaviour", "Behaviour profile", _behaviour(data)),
            *_section("transports", "Virtual time and real sockets", _transports(data)),
            *_section("mutants", "Mutation score", _mutants(beside.mutants)),
            *_section("models", "Model coverage", _edges(beside.edges, reports)),
            *_section("runs", "Runs", _runs(data)),
            "</main>",
            f"<footer><p>peerproof {text(version('peerproof'))}</p></footer>",
            '<p id="said" role="status" aria-live="polite"></p>',
            f'<script type="application/json" id="data">{_embedded(data.plain)}</script>',
            *(f'<script type="text/plain" id="chunk-{number}">{chunk}</script>' for number, chunk in enumerate(data.chunks())),
            f"<script>{script}</script>\n</body>\n</html>\n",
        )
    )


def _resource(name: str) -> str:
    return files("peerproof.conformance").joinpath(name).read_text(encoding="utf-8")


def _embedded(plain: Any) -> str:
    """JSON that ends no element."""
    return json.dumps(plain, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")


def _section(name: str, title: str, parts: Iterable[str]) -> Iterator[str]:
    yield f'<section aria-labelledby="{name}-title">\n<h2 id="{name}-title">{title}</h2>'
    yield from parts
    yield "</section>"


def _table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; numbers stand to the right."""
    scope = "".join(f'<th scope="col">{text(head)}</th>' for head in heads)
    lines = [f'<div class="wide"><table><caption>{text(caption)}</caption><thead><tr>{scope}</tr></thead><tbody>']
    for first, *rest in rows:
        cells = "".join(
            f'<td class="number">{cell:,}</td>' if isinstance(cell, int) else f"<td>{text(cell)}</td>" for cell in rest
        )
        lines.append(f'<tr><th scope="row">{text(first)}</th>{cells}</tr>')
    return "\n".join([*lines, "</tbody></table></div>"])


def _header(data: PageData, beside: Beside) -> Iterator[str]:
    for label, report in zip(data.labels, data.reports, strict=True):
        if report.partial:
            missing = max(0, report.selected - len(report.results))
            yield (
                f'<p class="partial" role="status">Partial: {text(label)}: {text(report.because)}; '
                f"{missing:,} cases were not judged.</p>"
            )
    yield from (f'<p class="partial" role="status">{text(remark)}</p>' for remark in beside.remarks)
    heads = ("implementation", "language", "vectors", "cases", *STATUSES)
    rows = [
        (
            f"{label}{' (partial)' if report.partial else ''}",
            report.implementation.get("language", ""),
            report.vectors["version"],
            *(report.totals[name] for name in ("selected", *STATUSES)),
        )
        for label, report in zip(data.labels, data.reports, strict=True)
    ]
    yield _table("How it came out", heads, rows)
    for label, report in zip(data.labels, data.reports, strict=True):
        yield from (f'<p class="bad">{text(label)}, list of known failures: {text(one)}</p>' for one in report.problems)


def _cases(data: PageData) -> Iterator[str]:
    yield (
        "<p>Keys: <kbd>/</kbd> goes to the filter, <kbd>↓</kbd> and <kbd>↑</kbd> through the cases, <kbd>Enter</kbd> opens one, "
        "<kbd>Esc</kbd> closes it.</p>"
    )
    yield '<form id="filter" role="search">'
    yield (
        "<label>Filter: words of ids, titles and clauses, or clause:B-14"
        '<input type="search" id="text" autocomplete="off" spellcheck="false" aria-controls="list"></label>'
    )
    yield _choice("protocol", "Protocol", [(name, name) for name in data.protocols])
    yield _choice("layer", "Layer", [(name, name) for name in data.layers])
    yield _choice("status", "Status", [("wrong", "not as it should be"), *((name, name) for name in STATUSES)])
    yield _choice("implementation", "Implementation", [(str(number), label) for number, label in enumerate(data.labels)])
    yield '<output id="count" role="status" aria-live="polite"></output>\n</form>'
    yield "<noscript><p>The cases and the matrix need scripts; peerproof report merge and --format md do not.</p></noscript>"
    yield '<p id="none" hidden>No case fits the filter.</p>\n<ol id="list" tabindex="-1"></ol>'
    yield '<button type="button" id="more" hidden>Show more</button>'


def _choice(name: str, label: str, options: Iterable[tuple[str, str]]) -> str:
    shown = "".join(f'<option value="{text(value)}">{text(told)}</option>' for value, told in options)
    return f'<label>{label}<select id="{name}"><option value="">any</option>{shown}</select></label>'


def _matrices(data: PageData) -> Iterator[str]:
    yield "<p>Cases by clause, as the filter has protocol, layer and implementation. A known failure counts as a failure.</p>"
    single = " open" * (len(data.protocols) == 1)
    for protocol in data.protocols:
        yield (
            f'<details class="matrix" data-protocol="{text(protocol)}"{single}><summary>{text(protocol)}</summary>'
            f'<div class="wide" tabindex="0" role="region" aria-label="Matrix of {text(protocol)}"><table></table></div>'
            "</details>"
        )


def _behaviour(data: PageData) -> Iterator[str]:
    """Which of the outcomes that a vector allows each implementation has."""
    taken = data.plain["branches"]
    if not taken:
        yield "<p>No case that was judged has several outcomes that are allowed.</p>"
        return
    rows = []
    for place, branches in taken:
        vector, rest, *_ = data.plain["cases"][place]
        case = data.plain["vectors"][vector][0] + rest
        rows.append((case, *(", ".join(branches.get(number, ())) for number in range(len(data.labels)))))
    yield f"<details><summary>Which branch each implementation took, {len(rows):,} cases</summary>"
    yield _table("Branches taken", ("case", *data.labels), rows)
    yield "</details>"


def _transports(data: PageData) -> Iterator[str]:
    """Where a vector comes out otherwise over a real socket."""
    told = [
        (label, line)
        for label, report in zip(data.labels, data.reports, strict=True)
        for line in transports.lines(report.results)
    ]
    yield from (f"<p>{text(label)}: {text(line)}</p>" for label, line in told)
    if not told:
        yield "<p>No vector came out both ways.</p>"


def _mutants(mutants: Mapping[str, Any] | None) -> Iterator[str]:
    if mutants is None:
        yield "<p>Not given: peerproof mutants --format json writes it, --mutants FILE brings it in.</p>"
        return
    rows = [
        (
            protocol + " (a part of them)" * (not found.get("whole", True)),
            *(found[name] for name in ("mutants", "killed", "equivalent")),
            len(found["survivors"]),
            _percent(found["score"]),
        )
        for protocol, found in mutants["protocols"].items()
    ]
    yield _table("Killed by vectors alone", ("protocol", "mutants", "killed", "equivalent", "survivors", "score"), rows)
    for protocol, found in mutants["protocols"].items():
        if found["survivors"]:
            yield f"<details><summary>Survivors of {text(protocol)}</summary>"
            yield from (f"<pre>{text(_survivor(survivor))}</pre>" for survivor in found["survivors"])
            yield "</details>"


def _percent(score: Any) -> str:
    """Rounded down: what is not all is not 100 %."""
    return f"{floor(1000 * score) / 10:.1f} %" if isinstance(score, int | float) else "none"


def _survivor(survivor: Any) -> str:
    if isinstance(survivor, Mapping):
        return "\n".join(f"{name}: {value}" if "\n" not in str(value) else str(value) for name, value in survivor.items())
    return str(survivor)


def _edges(edges: Mapping[str, Any] | None, reports: Sequence[Report]) -> Iterator[str]:
    if edges is None:
        yield "<p>Not given: peerproof report edges writes it, --edges FILE brings it in.</p>"
        return
    if any(report.vectors.get("digest") != edges["vectors"]["digest"] for report in reports):
        yield f'<p class="partial">These are of other vectors than the reports: {text(edges["vectors"]["version"])}</p>'
    heads = ("configuration", "worlds", "edges", "a node moves", "step loaded", "step on a path", "walked in place")
    members = ("worlds", "edges", "moving", "edges_loaded", "edges_on_paths", "walked")
    rows = [
        (f"{protocol} {one['configuration']}", *(one[member] for member in members))
        for protocol, configurations in edges["protocols"].items()
        for one in configurations
    ]
    yield _table("Edges of the models' state graphs that vectors take", heads, rows)
    wrong = [what for configurations in edges["protocols"].values() for one in configurations for what in one["wrong"]]
    yield from (f'<p class="bad">not of the graph: {text(what)}</p>' for what in wrong)


def _runs(data: PageData) -> Iterator[str]:
    for label, report in zip(data.labels, data.reports, strict=True):
        told = {"seed": report.seed, **report.arguments, "url": report.implementation.get("url", "")}
        shown = "".join(
            f"<dt>{text(name)}</dt><dd><code>{text(value if isinstance(value, str) else json.dumps(value))}</code></dd>"
            for name, value in told.items()
            if value
        )
        yield f"<h3>{text(label)}</h3><dl>{shown}</dl>"
