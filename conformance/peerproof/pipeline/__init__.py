"""
The pipeline: checks logs, captures and simulations of any size, on Spark.

Needs the extra: pip install 'peerproof[pipeline]', and Java 17 or newer for everything but `--master none`.
"""
