"""The explorer: a bounded model of a protocol, step by step, as plain data for a page in the browser."""
