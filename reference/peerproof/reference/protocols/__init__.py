"""What each protocol adds at run time, and the registry of them."""
