"""
Mistakes that implementations of DistKV make, each alone in an otherwise right one; `variant.py` says how it is done.

`peerproof run --impl py:tests.conformance.mistakes_distkv.store:TocksFirst` shows what it looks like to have made one.
"""
