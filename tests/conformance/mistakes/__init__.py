"""
Mistakes that implementations of Scuttlebutt make, each alone in an otherwise right one; `variant.py` says how it is done.

`peerproof run --impl py:tests.conformance.mistakes.packing:NewestFirst` shows what it looks like to have made one.
"""
