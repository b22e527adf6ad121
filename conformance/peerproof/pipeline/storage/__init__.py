"""Tables on disk, and batches that a kill at any moment neither loses nor doubles."""
