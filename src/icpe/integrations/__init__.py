"""Data, simulators and clusters of other makers."""
