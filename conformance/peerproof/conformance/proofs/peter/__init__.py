"""Proofs about Peter."""
