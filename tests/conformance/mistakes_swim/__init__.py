"""
Mistakes that implementations of SWIM make, each alone in an otherwise right one; `variant.py` says how it is done.

`peerproof run --impl py:tests.conformance.mistakes_swim.transit:UuidsAsStrings` shows what it looks like to have made one.
"""
