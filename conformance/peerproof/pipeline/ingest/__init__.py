"""Foreign logs and captures as rows of the table `traces`."""
