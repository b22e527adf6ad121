"""What DistKV's modules compute with, held to the cases of its page; and what their configurations must be."""

from __future__ import annotations

from pathlib import Path

import pytest

from peerproof.tla.manifest import configurations, root
from peerproof.tla.output.outcome import Verdict
from peerproof.tla.tools.installation import Tools
from peerproof.tla.tools.tlc import Run, run

#: Nodes n1, n2 … and a, b … are 1, 2 …
CASES = {
    "DC-01": "WithChange(NoChain, 1, 1, 5) = <<<<<<1, 1>>>>, FALSE>>",
    "DC-02": "WithChange(Alone(1, 1), 2, 1, 5) = <<<<<<2, 1>>, <<1, 1>>>>, FALSE>>",
    "DC-03": "WithChange(Alone(1, 3), 1, 4, 5) = Alone(1, 4)",
    "DC-04": "WithChange(Three, 1, 4, 5) = <<<<<<1, 4>>, <<3, 7>>, <<2, 2>>>>, FALSE>>",
    "DC-05": "WithChange(Three, 4, 1, 3) = <<<<<<4, 1>>, <<3, 7>>, <<1, 3>>>>, TRUE>>",
    "DC-06": "WithChange(Three, 2, 3, 3) = <<<<<<2, 3>>, <<3, 7>>, <<1, 3>>>>, FALSE>>",
    "DC-07": "WithChange(Alone(1, 3), 2, 1, 1) = <<<<<<2, 1>>>>, TRUE>>",
    "DC-08": "WithPing(Four, 1, 5, 4) = <<<<<<1, 5>>, <<1, 5>>, <<2, 1>>, <<1, 5>>>>, TRUE>>",
    "DC-15": 'Relation(Alone(1, 2), <<<<<<1, 2>>, <<3, 1>>>>, FALSE>>) = "same"',
    "DC-16": 'Relation(Alone(1, 2), Alone(1, 3)) = "before"',
    "DC-17": 'Relation(<<<<<<2, 1>>, <<1, 3>>>>, FALSE>>, Alone(1, 3)) = "after"',
    "DC-18": 'Relation(<<<<<<2, 1>>, <<1, 3>>>>, FALSE>>, <<<<<<3, 1>>, <<1, 3>>>>, FALSE>>) = "concurrent"',
    "DC-19": 'Relation(<<<<<<2, 1>>, <<1, 1>>>>, FALSE>>, Alone(1, 2)) = "concurrent"',
    "DC-20": 'Relation(Alone(1, 1), NoChain) = "after"',
    "DC-21": 'Relation(Alone(1, 1), <<<<<<2, 1>>, <<1, 2>>>>, FALSE>>) = "before"',
    "DC-64": "Beats(Alone(4, 1), 13, Alone(3, 9), 12)",
    "DC-65": "Beats(Alone(4, 10), 12, Alone(3, 9), 12)",
    "DC-66": "Beats(Alone(3, 9), 12, Alone(4, 9), 12) /\\ ~Beats(Alone(4, 9), 12, Alone(3, 9), 12)",
    "DC-67": "Beats(Alone(3, 9), 12, Alone(2, 99), 11)",
    "DC-75": "~IsAuthoritative(Zeros(<<0, 0>>), 9)",
    "DC-76": "IsAuthoritative(Zeros(<<0, 3>>), 9) /\\ ~IsAuthoritative(Zeros(<<0, 3>>), 2)",
    "DC-77": "~IsAuthoritative(NoChain, 9)",
    "DC-78": "ZeroMayPing(Zeros(<<0, 0, 0, 0>>))",
    "DC-79": "~ZeroMayPing(Zeros(<<0, 0, 5, 0>>))",
    "DC-80": "ZeroMayPing(Zeros(<<0, 5, 0, 0>>))",
    "DC-81": "ZeroMayPing(Zeros(<<4, 0, 0, 0>>))",
    "DC-82": "Missing({<<1, 7>>, <<3, 2>>}, {<<1, t>> : t \\in {1, 3, 4, 5}} \\cup {<<3, 1>>, <<3, 2>>})"
    " = {<<1, 2>>, <<1, 6>>, <<1, 7>>}",
    "DC-83": "Raised({<<1, 7>>, <<2, 2>>}, {<<1, 5>>, <<2, 4>>, <<3, 1>>}) = {<<1, 7>>, <<2, 4>>, <<3, 1>>}",
    "DC-95": "Side(<<<<<<1, 7>>, <<1, 7>>, <<2, 1>>, <<1, 6>>>>, TRUE>>, "
    "<<<<<<2, 2>>, <<2, 2>>, <<2, 1>>, <<1, 6>>>>, TRUE>>) = {1}",
    "DA-32": "Agree(<<<<<<1, 7>>>>, TRUE>>, Four7) /\\ ~Agree(Alone(1, 7), Four7) /\\ Agree(Four7, Four7)",
    "texts": 'Words("2 1 set 13 4") = <<"2", "1", "set", "13", "4">> /\\ Number("13") = 13 /\\ Words("7") = <<"7">>',
    "chains": 'ChainAt(Words("5 1 3 12 1 0"), 2) = <<<<<<3, 12>>, <<1, 0>>>>, TRUE>>',
}

HELPERS = """
Three == <<<<<<3, 7>>, <<1, 3>>, <<2, 2>>>>, FALSE>>
Four == <<<<<<1, 5>>, <<2, 1>>, <<1, 5>>, <<2, 1>>>>, FALSE>>
Four7 == <<<<<<1, 7>>, <<2, 1>>>>, FALSE>>
Zeros(numbers) == <<[i \\in DOMAIN numbers |-> <<i, numbers[i]>>], FALSE>>
"""

RUN = "Init == x = 0\nNext == UNCHANGED x\n"


def module(folder: Path, claims: list[str]) -> Path:
    """A module that assumes this, and has nothing else to explore."""
    path = folder / "Cases.tla"
    assumed = "".join(f"ASSUME {claim}\n" for claim in claims)
    path.write_text(
        f"---- MODULE Cases ----\nEXTENDS Chains, Texts\nVARIABLE x\n{HELPERS}{assumed}{RUN}====\n",
        encoding="utf-8",
    )
    return path


def checked(tools: Tools, folder: Path, claims: list[str]) -> Verdict:
    what = Run(module=module(folder, claims), configuration="INIT Init\nNEXT Next\n", library=(root() / "distkv",), brief=True)
    return run(tools, what).verdict


@pytest.mark.slow  # runs TLC, and so needs Java
def test_chains_and_texts_are_as_in_the_cases_of_the_page(tools: Tools, tmp_path: Path) -> None:
    assert checked(tools, tmp_path, list(CASES.values())) is Verdict.SUCCESS


@pytest.mark.slow
def test_a_case_that_is_wrong_is_found(tools: Tools, tmp_path: Path) -> None:
    assert checked(tools, tmp_path, [CASES["DC-16"].replace("before", "after")]) is not Verdict.SUCCESS


@pytest.mark.parametrize("name", [name for name, each in configurations("distkv").items() if "Starting" in each.constants])
def test_each_node_of_a_configuration_starts_somehow_and_once(name: str) -> None:
    constants = configurations("distkv")[name].constants

    assert sorted(node for node, _ in constants["Starting"]) == sorted(constants["Node"])
    assert {timer for _, timer in constants["Firing"]} <= {
        *("initial", "founding", "olddata", "ping", "greeting", "ticks", "missing", "known", "over", "repair", "allowed")
    }
