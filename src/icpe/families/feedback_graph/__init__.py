"""Bandits on feedback graphs: law, belief and limits."""
