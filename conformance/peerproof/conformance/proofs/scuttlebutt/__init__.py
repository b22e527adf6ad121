"""Proofs about Scuttlebutt."""
