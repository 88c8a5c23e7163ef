"""Explorers to export, and sessions of both kinds side by side."""

import dataclasses
import functools as ft
import tempfile
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from icpe import portable
from icpe.artifact import Artifact
from icpe.artifact.guard import Guard, Limits
from icpe.artifact.outcome_law import NumberLaw, SymbolLaw
from icpe.artifact.saved_rule import SavedRule
from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.fingerprint import fingerprint
from icpe.core.likelihood import belief_for
from icpe.deploy import Session
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.export import export_onnx
from icpe.nets.evidence import PredictionShape
from icpe.nets.exact import ExactPredictions
from icpe.nets.outcome_tables import SymbolTable
from icpe.nets.predictions import Predictions
from icpe.nets.transformer import TransformerConfig
from support.certificates import unearned_certificate
from support.random_weights import random_weights

TINY = NetConfig(TransformerConfig(width=8, num_layers=1, num_heads=2))
PRICE = 0.0001


def certified(artifact: Artifact, error_prob: float = 0.1) -> Artifact:
    """With a certificate that nothing was tested for."""
    return artifact.with_certificate(
        unearned_certificate(
            error_prob=error_prob,
            price=PRICE,
            weights=artifact.weights_hash,
            fingerprint=fingerprint(artifact.family),
        )
    )


@ft.cache
def untrained(family, config: NetConfig = TINY) -> Artifact:
    """Random networks, certified."""
    nets = random_weights(
        lambda key: ExplorerNets(family.spec, config, PriceRange(PRICE, 0.2), key=key)
    )
    return certified(Artifact(nets=nets, family=family, training={}, provenance={}))


def knowing(family) -> Artifact:
    """Random networks that start from the exact belief of their family."""
    belief = belief_for(family)
    assert isinstance(belief, AbstractPredictiveBelief)
    predictions = ExactPredictions.of(family.spec, belief)
    config = dataclasses.replace(
        TINY, predictions=predictions.shape(trust=1.0), reads_worth=True
    )
    nets = random_weights(
        lambda key: ExplorerNets(
            family.spec,
            config,
            PriceRange(PRICE, 0.2),
            predictions=predictions,
            key=key,
        )
    )
    nets = nets.with_predictions(predictions)
    return certified(Artifact(nets=nets, family=family, training={}, provenance={}))


@ft.cache
def searching(family) -> Artifact:
    """Tables of a search that say all there is to say, under a guard that knows it."""
    size = family.spec.num_hypotheses
    symbols = np.array([[-1.0], [0.0], [1.0]], np.float32)
    numbers = np.arange(size)
    right = np.sign(numbers[None, :] - numbers[:, None])[..., None] == symbols[:, 0]
    probability = np.where(right, 0.98, 0.01).astype(np.float32)
    shape = PredictionShape("symbols", 1, 3, "", 0, trust=1.0)
    table = SymbolTable(
        jnp.asarray(symbols), jnp.log(jnp.asarray(np.moveaxis(probability, 1, 2)))
    )
    config = dataclasses.replace(TINY, predictions=shape, reads_worth=True)
    artifact = untrained(family, config)
    predictions = Predictions.empty(family.spec, shape)
    predictions = dataclasses.replace(predictions, outcomes=table)
    nets = artifact.universal_nets.with_predictions(predictions)
    guard = Guard(SymbolLaw(symbols, probability), Limits(6.0, 4.0), {})
    found = Artifact(nets, family, {}, {}, guard=guard)
    return certified(found)


@ft.cache
def rewarded(family) -> Artifact:
    """Random networks for a bandit, under a guard with a law of its rewards.

    The value 7 is a word, such as a flag that nothing was measured.
    """
    number = family.spec.num_queries
    shape = (number, number, 1)
    mean = np.where(np.eye(number, dtype=bool), 1.0, 0.4)[..., None]
    law = NumberLaw(
        mean=mean.astype(np.float32),
        between=np.full(shape, 0.1, np.float32),
        within=np.full(shape, 0.25, np.float32),
        words=np.array([[7.0]], np.float32),
        chance=np.broadcast_to(np.array([0.01, 0.99], np.float32), (*shape, 2)).copy(),
    )
    guard = Guard(law, Limits(7.0, 5.0, 3, 8.0, 2.0, first_wider=True), {})
    return dataclasses.replace(untrained(family), guard=guard)


def ruled(family, score: str) -> Artifact:
    """A rule, as `icpe rule` saves it, that nothing was measured of."""
    rule = SavedRule.of(family, score)
    return Artifact(nets=rule, family=family, training={}, provenance={})


_MODELS: dict[int, tuple[Artifact, portable.Model]] = {}


def model_of(artifact: Artifact) -> portable.Model:
    """The artifact exported and opened, once."""
    if id(artifact) not in _MODELS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "explorer.onnx"
            export_onnx(artifact, path)
            _MODELS[id(artifact)] = artifact, portable.Model(path)
    return _MODELS[id(artifact)][1]


class Twins:
    """The same told to a session and to its portable twin, which must agree."""

    def __init__(self, artifact: Artifact, tolerance: float = 1e-5, **asked):
        self.one = Session(artifact, **asked)
        self.two = portable.Session(model_of(artifact), **asked)
        self.tolerance = tolerance
        self.compare()

    def tell(self, query, outcome, **more) -> None:
        """Tells both, and compares what they say."""
        self.one.tell(query, outcome, **more)
        self.two.tell(query, outcome, **more)
        self.compare()

    def compare(self) -> None:
        """All that a user can see is equal."""
        one, two = self.one, self.two
        for name in (
            "stopped",
            "stop_reason",
            "recommendation",
            "certified",
            "certificate_lost",
            "alarm",
            "query_name",
            "recommendation_name",
        ):
            assert getattr(one, name) == getattr(two, name), name
        assert one.ask() == two.ask()
        assert one.posterior is not None
        assert np.abs(one.posterior - two.posterior).max() <= self.tolerance
        assert [a.asked for a in one.history] == [a.asked for a in two.history]

    @property
    def lost(self) -> str:
        """Why the certificate is lost."""
        return self.two.certificate_lost or ""

    @property
    def asked(self) -> int:
        """The query to make next."""
        query = self.two.ask()
        assert query is not None
        return query

    def refused(self, call) -> str:
        """The error of both, which must be the same."""
        errors = []
        for session in (self.one, self.two):
            try:
                call(session)
            except Exception as error:
                errors.append(error)
        assert len(errors) == 2
        assert str(errors[0]) == str(errors[1])
        assert type(errors[0]) is type(errors[1])
        self.compare()
        return str(errors[0])
