"""What only runs with a folder of its own in PYTHONPATH cannot be imported here, to look for examples in docstrings."""

collect_ignore_glob = ["pingpong/*", "wrong_pingpong.py"]
