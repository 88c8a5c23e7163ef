"""Conformance suites and toy families, for tests of your own families and explorers."""

from icpe.testing.explorer_suite import check_explorer as check_explorer
from icpe.testing.family_suite import check_family as check_family
