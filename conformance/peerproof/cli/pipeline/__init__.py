"""
`peerproof pipeline`: the stages from logs, captures and simulations to a verdict, on Spark.

A stage writes a batch into the folder of --output. After a kill at any moment, the same command continues: finished units are
not repeated, and no row is lost or duplicated. A finished batch names its inputs, versions, seeds and arguments; other
arguments for the same folder are refused.
"""
