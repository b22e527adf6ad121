"""Small mistakes, made in the specifications one at a time: a suite is worth what it notices of them."""
