"""
Mistakes that implementations of Peter make, each alone in an otherwise right one; `variant.py` says how it is done.

`peerproof run --impl py:tests.conformance.mistakes_peter.events:CopiesBack` shows what it looks like to have made one.
"""
