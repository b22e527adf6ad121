"""Proofs about SWIM."""
