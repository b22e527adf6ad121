"""Packet captures: pcap files, packets, streams, and checks of a node by its messages alone."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
