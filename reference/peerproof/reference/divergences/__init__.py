"""What real implementations do, or have done, otherwise than the documents say: the reference with one such difference each."""
