"""
The entry point of the plugin: its options, and nothing else.

Every pytest in an environment with peerproof imports this module, also for projects that do not use it. So it imports nothing
of peerproof; the plugin itself is imported if an implementation is named.
"""

from __future__ import annotations

from typing import Final

import pytest

OPTION: Final = "peerproof"
LEVELS: Final = ("must", "should", "may")  #: of vectors, and marks of their cases
DECISIONS: Final = ("report", "strict", "ignore")  #: as of `peerproof run --decisions`


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares the options, and the settings of the same names in a configuration file."""
    group = parser.getgroup("peerproof", "conformance cases of peerproof")
    add, setting = group.addoption, parser.addini
    add(
        "--peerproof",
        metavar="IMPL",
        help="run the conformance cases, each as a test, against this implementation: 'COMMAND ARGS', py:MODULE:CLASS, "
        "tcp://HOST:PORT, as peerproof run --impl",
    )
    add("--peerproof-protocol", metavar="PROTOCOL", help="only the cases of this protocol, or several with commas (default: all)")
    add("--peerproof-known-failing", metavar="FILE", help="list of expected failures, as of peerproof run --known-failing")
    add("--peerproof-strict", action="store_true", default=None, help="fail also where a vector says should")
    add("--peerproof-decisions", choices=DECISIONS, help="what a case does that violates only a decision (default: report)")
    add("--peerproof-record", metavar="FILE", help="write the report for peerproof report, as peerproof run --record")
    setting("peerproof", "implementation under test; used if no test is named on the command line, see --peerproof")
    setting("peerproof_protocol", "see --peerproof-protocol")
    setting("peerproof_known_failing", "see --peerproof-known-failing; relative to this file")
    setting("peerproof_strict", "see --peerproof-strict", type="bool", default=False)
    setting("peerproof_decisions", "see --peerproof-decisions", default="report")


def pytest_configure(config: pytest.Config) -> None:
    """Registers the plugin, if an implementation is named."""
    if config.getoption(OPTION) or config.getini(OPTION):
        config.addinivalue_line("markers", f"{OPTION}: a conformance case")
        for level in LEVELS:
            config.addinivalue_line("markers", f"{level}: a conformance case of a vector of this level")
        from peerproof.conformance.pytest_plugin.plugin import register

        register(config)
