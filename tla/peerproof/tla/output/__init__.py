"""Parsing of TLC's output: messages, verdicts, values, counterexamples, state graphs."""
