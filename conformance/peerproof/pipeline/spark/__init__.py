"""The engine: a function over units of work, on Spark or in this process."""
