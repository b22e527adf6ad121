"""What each protocol brings to be fuzzed."""
