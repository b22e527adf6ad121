"""The conformance library: vectors are data, the runner compares, an adapter is a pipe to the implementation."""
