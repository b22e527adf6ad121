"""Ping-pong, the smallest protocol for peerproof: its row in the table of protocols."""

from pathlib import Path

from peerproof.spec.protocols import Protocol, Reference

PROTOCOL = Protocol(
    name="pingpong",
    specification=Reference("pingpong.specification"),
    bounded=Reference("pingpong.bounded"),
    runtime=Reference("pingpong.runtime:RUNTIME"),
    inputs=Reference("pingpong.inputs:INPUTS"),
    home=Path(__file__).parent,
)
