"""icpe learns to ask the right questions."""
