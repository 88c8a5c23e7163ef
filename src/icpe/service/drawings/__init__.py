"""Drawings: pure functions from what a session knows to HTML and SVG.

All text that enters is escaped by `markup.tag`. No picture carries a style of its own,
so that the page needs no inline styles, and every picture has its numbers as text.
"""
