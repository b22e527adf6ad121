"""Model checking with TLA+: finding the tools, running TLC, and reading what it writes."""
