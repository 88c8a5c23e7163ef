"""Trained explorers: networks, and how they play."""
