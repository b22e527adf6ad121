"""Proofs about Wendy."""
