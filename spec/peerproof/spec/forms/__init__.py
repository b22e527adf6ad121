"""Declared forms: how values look as plain data and as bytes, packing, shortcuts, MessagePack, JSON text, fingerprints."""
