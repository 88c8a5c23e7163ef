"""What tests that train share."""

import jax
import pytest


@pytest.fixture
def optax_dtypes():
    """Lets dtypes mix, as optax does."""
    with jax.numpy_dtype_promotion("standard"):
        yield
