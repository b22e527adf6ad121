"""Proofs about DistKV."""
