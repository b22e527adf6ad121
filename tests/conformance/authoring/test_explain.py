"""`peerproof explain`: clauses, properties, and what is neither."""

from __future__ import annotations

import pytest

from peerproof.cli.main import main

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("ba-32", "  'empty-responses'  A digest response is sent even if it has no entries.\n"),
        ("PA-06", "  none: to do otherwise contradicts P-10\n"),  # the only reasonable reading
        ("B-13", "  … and 4 more: peerproof vectors list -k 'clause:B-13 !layer:model'\n"),
        ("NoStaleRumour", "NoStaleRumour (swim)\n"),
        ("nostalerumour", "\nclauses\n  SX-02\n"),
        ("NoStaleRumour", "\n  SX-02-stale-rumour  small, expected to fail: NoStaleRumour  "),
        ("NoStaleRumour", "\n  NoStaleRumour ==\n      \\A m \\in Arriving : "),
        ("NoGap", "  all current pairs up to the known version are known; must hold at every instant of a run, "),
        ("Restored", "  A node that runs, and is suspicious at a node that pings, is well there again.\n"),  # temporal
        ("TypeOK", "TypeOK (wendy)\n"),  # several protocols have one
        ("sometimes-forwarded", "\nexpected answer\n  yes, so NeverForwarded is violated, after 7 steps at the least\n"),
        ("small-joins", "  Digits = 2, DigitBits = 2, LeafSide = 1, TwoSided = FALSE, Node = {0, 2, 4}, "),
        ("WX-04-late-versions", "\nchanged in the specification\n  behaviour LateNext\n"),
    ],
)
def test_clauses_and_properties_are_explained(name: str, shown: str, capsys: Capture) -> None:
    code = main(["explain", name])

    assert (code, shown in capsys.readouterr().out) == (0, True)


def test_several_names_are_explained_one_after_the_other(capsys: Capture) -> None:
    assert main(["explain", "B-36", "NoGap", "BA-14"]) == 0

    heads = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith(("B-36 ", "NoGap ", "BA-14 "))]
    assert heads == ["B-36", "NoGap", "BA-14"]


@pytest.mark.parametrize(
    ("name", "tip"),
    [
        ("b-99", "there are B-01 to B-45"),
        ("BA-99", "there are BA-01 to BA-32"),
        ("B14", "did you mean B-14?"),
        ("NoStaleRumor", "did you mean NoStaleRumour?"),
        ("swmi", "did you mean swim?"),
        ("small-jions", "did you mean small-joins or small-join?"),
        ("small-jion", "did you mean small-join or small-joins?"),
        ("s4", "did you mean S-04?"),
        ("s-4", "did you mean S-04?"),
        ("pastry", "no clause mentions it, but spec/wendy.md does (peerproof explain wendy)\n"),
        ("proximity", "clauses that mention it: wendy W-04 W-05 W-06 "),
        (
            "Q-12",
            "as in B-14 and BA-07, the first letter is the protocol (B scuttlebutt, S swim, W wendy, P peter, D distkv), the ",
        ),
    ],
)
def test_an_unknown_name_is_repeated_as_typed_with_a_tip(name: str, tip: str, capsys: Capture) -> None:
    code = main(["explain", name])

    assert code == 2
    assert capsys.readouterr().err.startswith(f"error: unknown clause {name!r}\ntip: {tip}")
