"""
Inputs for fuzzing Scuttlebutt.

There are few addresses, keys and versions, so that new data often concerns existing data; limits with room for one entry, for
some or for all; and failure detectors whose timeouts are shorter than a round.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from peerproof.conformance.fuzz.inputs.inputs import Inputs, seeds_before
from peerproof.conformance.fuzz.strategies import Named, values
from peerproof.spec import scuttlebutt
from peerproof.spec.core import Duration, NodeId
from peerproof.spec.forms.form import U64_MAX
from peerproof.spec.scuttlebutt import Config, Detector
from peerproof.spec.scuttlebutt.state import DEFAULT_INTERVAL

STRANGER: Final = NodeId("x:1")

_LIMITS: Final = st.sampled_from([1400, 1400, 60, 60, 33, 24, 1])
_INTERVALS: Final = st.sampled_from([DEFAULT_INTERVAL, DEFAULT_INTERVAL, Duration(400)])
_DETECTORS: Final = st.sampled_from([Detector(), None, Detector(window=2, bootstrap=Duration(100), critical=500, down=800)])
_WORDS: Final = ("k", "k", "l", "", "é", "e\u0301", "\udcff", "k\0", "m" * 30, "x" * 255)
_TOO_LONG: Final = ("x" * 256, "é" * 128)


def _configs(nodes: tuple[NodeId, ...]) -> SearchStrategy[tuple[Any, ...]]:
    drawn = {"interval": _INTERVALS, "max_payload": _LIMITS, "detector": _DETECTORS}
    return st.tuples(*(st.builds(Config, seeds=seeds, **drawn) for seeds in seeds_before(nodes, STRANGER)))


def _field_strategies(nodes: tuple[NodeId, ...]) -> Named:
    return {
        "addr": st.sampled_from([*nodes[:2] * 4, *nodes, STRANGER, NodeId(""), NodeId("\udcff")]),
        "key": st.sampled_from(_WORDS),
        "value": st.sampled_from(_WORDS),
        "version": st.sampled_from([0, 0, 1, 1, 2, 2, 3, 5, 9, U64_MAX - 1, U64_MAX]),
    }


def _commands(_: tuple[NodeId, ...]) -> SearchStrategy[Any]:
    words = st.sampled_from((*_WORDS, *_WORDS, *_TOO_LONG))  # most calls are legal
    return values(scuttlebutt.COMMAND, {"key": words, "value": words})


INPUTS: Final = Inputs(
    spec=scuttlebutt,
    configs=_configs,
    named=_field_strategies,
    commands=_commands,
    spans=(1000, 1, 100, 3000, 10_000),
    malformed=("BA-20",),
    telling=True,
)
