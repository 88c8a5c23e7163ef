"""Explorers that act on a belief by a rule."""
