"""Checking nodes outside of Spark: repeating the check of a node, and watching a folder of growing traces."""
