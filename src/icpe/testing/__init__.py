"""Conformance suites, for tests of your own families, explorers and storages."""

from icpe.core.conformance import check_family as check_family
from icpe.testing.explorer_suite import check_explorer as check_explorer
from icpe.testing.storage_suite import check_storage as check_storage
