"""The engine: runs a function over units of work, on Spark or in this process."""
