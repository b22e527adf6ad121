"""The conformance suite: vectors are data, the runner is the judge, an adapter is a pipe to the implementation."""
