"""The command line: the composition root, the only place that knows everything."""
