"""Reading what TLC prints and writes: messages, verdicts, values, counterexamples, state graphs."""
