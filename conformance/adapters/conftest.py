"""What runs in another environment than the suite's cannot be imported here, to look for examples in docstrings."""

collect_ignore_glob = ["distkv-pypi/*.py"]
