"""The report of a pipeline as one HTML page."""
