"""Imported by a process, makes its surveys brief."""

from support.brief_surveys import make_brief

make_brief()
