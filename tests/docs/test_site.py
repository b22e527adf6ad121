"""The site's own parts: its flowcharts, and the check of what was built."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.support.docs_scripts import load_script


def test_a_flowchart_has_each_box_above_those_that_it_points_to() -> None:
    boxes = ('low["low & last"]', 'high["high"]', 'mid["mid"]')
    diagram = "\n    ".join(["flowchart TD", *boxes, "high --> mid", "mid --> low", "high --> low"])

    drawn = ElementTree.fromstring(load_script("flowchart").render_flowchart(diagram, "one"))

    texts = {found.text: float(found.get("y", 0)) for found in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert texts["high"] < texts["mid"] < texts["low & last"]
    assert (
        len([path for path in drawn.iter("{http://www.w3.org/2000/svg}path") if path.get("marker-end") == "url(#one-tip)"]) == 3
    )


@pytest.mark.parametrize(
    ("diagram", "problem"),
    [
        ('flowchart TD\n a["a"]\n b["b"]\n a --> b\n b --> a', "circle"),
        ("flowchart LR", "not a box or an arrow: 'flowchart LR'"),
    ],
)
def test_what_is_no_such_flowchart_is_refused(diagram: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        load_script("flowchart").render_flowchart(diagram, "one")


def test_links_that_lead_nowhere_and_files_from_elsewhere_are_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/index.html").write_text('<h1 id="here">A</h1><a href="../">up</a><img src="../p.svg">')
    (tmp_path / "p.svg").write_text("<svg/>")
    (tmp_path / "index.html").write_text(
        '<link rel="canonical" href="https://elsewhere.org"><a href="https://elsewhere.org">fine</a><a href="a/#here">fine</a>'
        '<a href="a/#there">1</a><a href="b/">2</a><img src="q.svg"><a href="#nowhere">5</a>'
        '<script src="//cdn.org/x.js"></script>'
    )

    assert list(load_script("site_check").find_faults(tmp_path)) == [
        "index.html loads //cdn.org/x.js",
        "index.html links to a/#there, where there is no such place",
        "index.html links to b/, which is not there",
        "index.html links to #nowhere, where there is no such place",
        "index.html links to q.svg, which is not there",
    ]
