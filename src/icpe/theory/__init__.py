"""Exact quantities: arrays in, arrays out."""
