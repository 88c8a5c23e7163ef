"""Conformance suites, for tests of your own families and explorers."""

from icpe.core.conformance import check_family as check_family
from icpe.testing.explorer_suite import check_explorer as check_explorer
