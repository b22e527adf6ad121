"""The other readings of each protocol's document."""
