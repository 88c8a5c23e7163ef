"""Playing episodes: batches of them as one compiled program."""
