"""`peerproof node`: run reference nodes on sockets, in simulations and behind the adapter protocol."""
