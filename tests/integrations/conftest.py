"""What the tests of integrations share."""

import pytest

from icpe.families import registry


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """Families that a test registers are gone after it."""
    monkeypatch.setattr(registry, "_FACTORIES", dict(registry._FACTORIES))
