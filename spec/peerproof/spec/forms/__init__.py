"""Declared forms: how values look as plain data and as bytes, packing, MessagePack, JSON text, fingerprints."""
