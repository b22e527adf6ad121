"""Reference nodes: the specifications with a clock, random numbers and a network."""
