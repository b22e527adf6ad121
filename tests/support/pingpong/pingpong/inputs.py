"""What fuzzing of ping-pong draws from."""

from hypothesis import strategies as st

from peerproof.conformance.fuzz.inputs.inputs import Inputs
from pingpong import specification

INPUTS = Inputs(
    spec=specification,
    configs=lambda nodes: st.tuples(*(st.just(specification.Config((nodes[place - 1],))) for place in range(len(nodes)))),
    spans=(1000, 1, 100),
    malformed=("PP-04",),
)
