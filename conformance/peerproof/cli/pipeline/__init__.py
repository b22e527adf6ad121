"""
`peerproof pipeline`: the stages from logs, captures and simulations to a verdict, on Spark.

A stage writes a batch into the folder of --output. It can be killed at any moment: run the same command again, and what was
finished is not done again, nothing is lost and nothing is there twice. A finished batch names the inputs, versions, seeds and
arguments that made it; other arguments for the same folder are refused.
"""
