"""Certificates that were never earned, or in the old way, to test what uses them."""

import dataclasses
from typing import Any

from icpe.artifact import Artifact, provenance
from icpe.artifact.certificate import Certificate, Group, PriceTest
from icpe.evaluate.ladder import plan_fixed_sequence
from icpe.evaluate.stage import Stage, num_correct
from icpe.theory.fixed_sequence import critical_successes
from icpe.theory.intervals import clopper_pearson_lower


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


def fixed_sequence_certificate(
    artifact: Artifact, *, error_prob: float, episodes: int, confidence: float = 0.95
) -> Certificate:
    """A certificate as they were made before betting: exact tests until one fails."""
    stage = Stage(artifact, None)
    assert artifact.table is not None
    tests: list[PriceTest] = []
    critical = critical_successes(episodes, 1.0 - error_prob, confidence)
    for price in plan_fixed_sequence(
        artifact.table.priced(),
        error_prob=error_prob,
        confidence=confidence,
        episodes=episodes,
    ):
        point = artifact.operating_point(price=price)
        right = num_correct(stage.play("test", point, episodes))
        tests.append(PriceTest(price, right, right >= critical))
        if right < critical:
            break
    price = [test.price for test in tests if test.passed][-1]
    bound = num_correct(
        stage.play("bound", artifact.operating_point(price=price), episodes)
    )
    return unearned_certificate(
        error_prob=error_prob,
        confidence=confidence,
        price=price,
        lower_bound=float(clopper_pearson_lower(bound, episodes, confidence)),
        episodes=episodes,
        bound_successes=bound,
        ladder=tuple(tests),
        seed=stage.seed,
        weights=stage.weights,
        fingerprint=stage.fingerprint,
        table=artifact.table_hash,
        provenance=provenance(),
    )
