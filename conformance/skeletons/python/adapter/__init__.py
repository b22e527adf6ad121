"""An adapter: a program through which the conformance suite reaches your implementation."""
