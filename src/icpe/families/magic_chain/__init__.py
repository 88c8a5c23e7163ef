"""The magic chain: law, belief and limits."""
