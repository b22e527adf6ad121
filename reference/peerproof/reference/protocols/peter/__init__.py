"""Peter at run time."""
