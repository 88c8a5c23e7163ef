"""The studies of digits seen through patches."""
