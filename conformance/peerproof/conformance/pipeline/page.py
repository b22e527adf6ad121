"""
The report as one HTML page: it needs no network, no script and no second file, and may not load any (its own policy says so).

Whatever comes from logs is escaped, and signs that would not be seen are written out (`message_graph.visible`). Pictures have a
title, and beside each stands the same as text or as a table.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

from peerproof.conformance.message_graph import visible
from peerproof.conformance.pipeline import figures
from peerproof.conformance.pipeline.drawing import around
from peerproof.conformance.pipeline.gathered import SHOWN, Gathered, Row, configuration_names
from peerproof.conformance.pipeline.measure import ABOUT
from peerproof.conformance.pipeline.quarantine import REASONS
from peerproof.conformance.pipeline.summaries import PERCENTILES

#: Verdict -> what to say of it.
VERDICTS: Final[Mapping[str, str]] = {
    "accepted": "Nothing in what was judged contradicts the protocol.",
    "rejected": "Something contradicts the protocol; the first divergences are below.",
    "undetermined": "Nothing contradicts the protocol, but not all could be judged: this is no acceptance.",
    "not validated": "No verdict: nothing was validated.",
    "nothing judged": "No verdict: there was nothing to judge.",
}

SEVERITIES: Final[Mapping[str, str]] = {
    "rejected": "rejected: contradicts the protocol",
    "undetermined": "undetermined: could not be decided",
    "log": "log: a fault of the log, not of the protocol",
}

#: Configurations that are listed in a table; all of them are in summaries.csv.
LISTED: Final = 60

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def page(found: Gathered) -> str:
    """The whole page."""
    headline = f"Verdict: {found.verdict}"
    return "\n".join(
        (
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>peerproof: {_text(found.verdict)}</title>\n<style>\n{_style()}</style>\n</head>\n<body>",
            '<a class="skip" href="#verdicts">To the verdicts</a>',
            "<header>\n<h1>peerproof report</h1>",
            f'<p class="verdict {found.verdict.replace(" ", "-")}" role="status"><strong>{_text(headline)}</strong></p>',
            f"<p>{VERDICTS[found.verdict]}</p>",
            f"<p>{_events(found)}</p>",
            "</header>\n<main>",
            *_section("verdicts", "Verdicts", _verdicts(found)),
            *_section("divergences", "First divergences", _divergences(found)),
            *_section("input", "What was read", _input(found)),
            *_section("figures", "Figures", _figures(found)),
            *_section("made", "Made from", _made(found)),
            "</main>",
            f"<footer><p>peerproof {_text(version('peerproof'))}</p></footer>\n</body>\n</html>\n",
        )
    )


def _style() -> str:
    return files("peerproof.conformance.pipeline").joinpath("page.css").read_text(encoding="utf-8")


def _text(value: object) -> str:
    return escape(visible(str(value)))


def _section(name: str, title: str, parts: Iterable[str]) -> Iterator[str]:
    yield f'<section id="{name}" aria-labelledby="{name}-title">\n<h2 id="{name}-title">{title}</h2>'
    yield from parts
    yield "</section>"


def _table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]], numbers: Sequence[int] = ()) -> str:
    """A table; the columns in `numbers` stand to the right. Cells are texts."""
    scope = "".join(f'<th scope="col">{_text(head)}</th>' for head in heads)
    lines = [
        f'<div class="wide" role="region" aria-label="{_text(caption)}" tabindex="0"><table><caption>{_text(caption)}</caption>'
    ]
    lines.append(f"<thead><tr>{scope}</tr></thead><tbody>")
    for row in rows:
        first, *rest = (
            f'class="number">{_number(cell)}' if place in numbers else f">{_text(cell)}" for place, cell in enumerate(row)
        )
        lines.append(f'<tr><th scope="row" {first}</th>' + "".join(f"<td {cell}</td>" for cell in rest) + "</tr>")
    lines.append("</tbody></table></div>")
    return "\n".join(lines)


def _number(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if value == round(value) else f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"  # noqa: PLR2004
    return f"{value:,}" if isinstance(value, int) else _text(value)


def _events(found: Gathered) -> str:
    of = f" of {', '.join(map(_text, found.protocols))}" if found.protocols else ""
    return f"{found.runs:,} run{'s' if found.runs != 1 else ''}{of}, {found.events:,} events."


def _verdicts(found: Gathered) -> Iterator[str]:
    if not found.validated:
        yield "<p>The stage <code>validate</code> has not run here.</p>"
        return
    rows = [(verdict, protocol, way, *counts) for (protocol, way, verdict), counts in found.ways.items()]
    yield _table(
        "Nodes by verdict; of the way cluster, runs with all their nodes together",
        ("verdict", "protocol", "way", "nodes or runs", "events", "judged"),
        rows,
        (3, 4, 5),
    )
    if found.severities:
        kinds = [
            (SEVERITIES.get(severity, severity), name or "nodes with more than are told", count)
            for (severity, name), count in found.severities.items()
        ]
        yield _table("What was found", ("severity", "property, or fault of the log", "times"), kinds, (2,))
    if found.remarks:
        yield _table("Why not all was judged", ("reason", "nodes or runs"), list(found.remarks.items()), (1,))


def _divergences(found: Gathered) -> Iterator[str]:
    if not found.violations:
        yield "<p>None.</p>" if found.validated else "<p>Nothing was validated.</p>"
        return
    total = sum(found.severities.values())
    yield f"<p>{len(found.violations):,} of {total:,}: the first of each kind, then others, the worst first.</p>"
    for number, row in enumerate(found.violations, 1):
        yield from _divergence(number, row)


def _divergence(number: int, row: Row) -> Iterator[str]:
    where = f"node {row['node']}" if row["node"] else "all nodes"
    at = "" if row["seq"] is None else f", event {row['seq']}"
    title = f"{number}. {row['property']}: {where}{at}, run {row['run_id']}"
    yield f'<article aria-labelledby="divergence-{number}">\n<h3 id="divergence-{number}">{_text(title)}</h3>'
    yield f'<p class="severity {_text(row["severity"])}">{_text(SEVERITIES.get(row["severity"], row["severity"]))}</p>'
    yield f"<p>{_text(row['message'])}</p>"
    facts = [
        ("clauses", row["clause"]),
        ("expected", row["expected"]),
        ("found", row["actual"]),
        ("where", None if row["src_file"] is None else f"{row['src_file']}, byte {row['src_off']}"),
        ("see it again", row["replay"]),
    ]
    told = "".join(f"<dt>{name}</dt><dd><code>{_text(value)}</code></dd>" for name, value in facts if value is not None)
    yield f"<dl>{told}</dl>" if told else ""
    graph = around(row["context"], row["seq"]) if row["context"] else None
    if graph:
        drawn = graph.svg(f"The events around it at {where}", f"graph-{number}")
        yield f'<div class="wide" role="region" aria-label="Message graph {number}" tabindex="0">{drawn}</div>'
        yield f"<details><summary>The same as text</summary><pre>{_text(graph.text())}</pre></details>"
    yield "</article>"


def _input(found: Gathered) -> Iterator[str]:
    for counts in found.sums:
        rest = counts.get("left_out", 0)
        events = counts.get("messages", counts.get("traces", 0))
        yield (
            f'<p class="sum">{counts["records"]:,} records read = {events:,} events + '
            f"{counts['quarantine']:,} quarantined + {rest:,} left out</p>"
        )
    if not found.sums:
        yield "<p>Nothing was ingested from files.</p>"
    if found.reasons:
        rows = [(reason, REASONS.get(reason, ""), count) for reason, count in found.reasons.items()]
        yield _table("Quarantined, by reason", ("reason", "what it means", "records"), rows, (2,))
        examples = [
            (
                f"{row['src_file']}, {'' if row['line_no'] is None else row['line_no']}",
                row["src_off"],
                row["reason_code"],
                row["detail"],
                repr(row["raw"][:80])[2:-1],
            )
            for row in found.quarantined
        ]
        yield _table(
            f"The first {len(examples)}", ("file and line or packet", "byte", "reason", "detail", "begins"), examples, (1,)
        )


def _figures(found: Gathered) -> Iterator[str]:
    if not found.summaries:
        yield "<p>The stage <code>measure</code> has not run here.</p>"
        return
    yield "<p>In each plot, the pale bar goes from the least to the most, the dark one from p50 to p90.</p>"
    by_metric: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in found.summaries:
        by_metric[row["protocol"], row["metric"], row["unit"]].append(row)
    order = {name: place for place, name in enumerate(ABOUT)}
    for number, ((protocol, metric, unit), rows) in enumerate(
        sorted(by_metric.items(), key=lambda item: (item[0][0], order.get(item[0][1], 99)))
    ):
        names = configuration_names(row["config_json"] for row in rows)
        named = [(names[row["config_json"]], row) for row in rows]
        yield f"<h3>{_text(protocol)}: {_text(metric)}</h3>\n<p>{_text(ABOUT.get(metric, ''))} ({_text(unit)})</p>"
        title = f"{metric} of {protocol} by configuration, in {unit}: least to most, p50 to p90, p99"
        yield f"<figure>{figures.ranges(named, unit, f'figure-{number}', title)}</figure>"
        if points := found.curves.get((protocol, metric)):
            title = f"{metric} of {protocol} by round, mean of all nodes and messages"
            drawn = figures.curve(points, unit, f"curve-{number}", title)
            yield f"<figure>{drawn}<figcaption>{_text(title)}</figcaption></figure>"
        heads = ("configuration", "count", "total", "least", "mean", *PERCENTILES, "most")
        cells = [(label, *(row[head] for head in heads[1:])) for label, row in named[:LISTED]]
        yield "<details><summary>The figures</summary>"
        yield _table(f"{metric}, {unit}", heads, cells, range(1, len(heads)))
        if len(named) > LISTED:
            yield f"<p>{len(named) - LISTED:,} more configurations are in summaries.csv.</p>"
        yield "</details>"


def _made(found: Gathered) -> Iterator[str]:
    for name in found.unfinished:
        yield f"<p><strong>Not in this report:</strong> {_text(name)} was begun and is not finished.</p>"
    for batch in found.batches:
        told = batch.told
        yield f"<h3>{_text(batch.folder.name)}</h3>\n<dl>"
        facts: dict[str, Any] = {
            "inputs": f"{len(told['inputs']):,}",
            "arguments": _json(told["arguments"]),
            "seeds": ", ".join(told["seeds"]) or "none",
            "versions": _json(told["versions"]),
            "schema": told["schema"],
            "took": f"{told['wall_s']:,} s",
        }
        yield "".join(f"<dt>{name}</dt><dd><code>{_text(value)}</code></dd>" for name, value in facts.items())
        yield "</dl>"
        if told["inputs"]:
            items = "".join(f"<li><code>{_text(_json(item))}</code></li>" for item in told["inputs"][:SHOWN])
            more = len(told["inputs"]) - SHOWN
            yield (
                f"<details><summary>Inputs</summary><ul>{items}</ul>"
                + (f"<p>and {more:,} more</p>" if more > 0 else "")
                + "</details>"
            )
        tables = [(table, total["rows"], total["digest"]) for table, total in told["tables"].items()]
        yield _table(f"Tables of {batch.folder.name}", ("table", "rows", "digest"), tables, (1,))


def _json(plain: Any) -> str:
    text = json.dumps(plain, ensure_ascii=False)
    return text if len(text) <= 2000 else f"{text[:2000]}…"  # noqa: PLR2004  # the rest is in plan.json
