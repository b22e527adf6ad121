"""Measurements of recorded runs: messages and bytes, spreading of news, routes, trees, percentiles."""
