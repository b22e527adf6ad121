"""The pytest plugin: every case of a run against an implementation is a test of pytest."""
