"""Measurements that need everything below: speed now, the paper's experiments later."""
