"""Certificates that were never earned, for tests of what is done with them."""

import dataclasses
from typing import Any

from icpe.artifact.certificate import Certificate, Group, PriceTest


def unearned_certificate(**changes: Any) -> Certificate:
    """A sealed certificate for 0.1 at price 0.02, with what is to differ."""
    certificate = Certificate(
        error_prob=0.1,
        budget=None,
        confidence=0.95,
        certified=True,
        price=0.02,
        lower_bound=0.93,
        episodes=1000,
        bound_successes=945,
        mean_queries=3.5,
        mean_cost=3.5,
        ladder=(PriceTest(0.01, 960, True), PriceTest(0.02, 940, True)),
        episodes_needed=None,
        seed=7,
        seed_is_default=True,
        attempt=1,
        by_hypothesis=(Group("0", 500, 480, 3.0), Group("1", 500, 465, 4.0)),
        by_difficulty=(Group("1 to 4", 1000, 945, 3.5),),
        difficulty="number of queries",
        weights="w",
        fingerprint="f",
        table="t",
        provenance={"jax": "0.10"},
    )
    return dataclasses.replace(certificate, **changes).sealed()
