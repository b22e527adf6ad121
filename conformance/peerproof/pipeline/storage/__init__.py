"""Tables on disk, and batches that are neither lost nor duplicated if a process is killed."""
