"""Ping-pong for those who run its nodes."""

from peerproof.reference.runtime.protocol import Runtime

RUNTIME = Runtime("pingpong", "udp", "interval", shown=("state",), placed=lambda _, seeds: {"peers": list(seeds)})
