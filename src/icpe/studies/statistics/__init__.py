"""Statistics that only studies use."""
