"""
The pipeline: from logs, captures and simulations of any size to a verdict, on Spark.

Needs the extra: pip install 'peerproof[pipeline]', and Java 17 or newer for everything but `--master none`.
"""
