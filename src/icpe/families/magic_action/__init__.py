"""The magic action: law, belief and limits."""
