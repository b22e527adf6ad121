"""
Mistakes that implementations of Wendy make, each alone in an otherwise right one; `variant.py` says how it is done.

`peerproof run --impl py:tests.conformance.mistakes_wendy.routing:AnyoneInTheRow` shows what it looks like to have made one.
"""
