"""The paper's experiments and a few of our own, cell by cell; speed and a race."""
