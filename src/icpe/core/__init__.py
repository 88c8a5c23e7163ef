"""The vocabulary and the contracts that every other layer speaks."""
