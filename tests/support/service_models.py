"""A folder with one small certified model, as a service is given."""

import functools as ft
from pathlib import Path

from icpe.artifact import Artifact
from icpe.core.fingerprint import fingerprint
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families import GaussianBandit
from icpe.nets.transformer import TransformerConfig
from support.certificates import unearned_certificate
from support.random_weights import random_weights

BANDIT_MODEL = "small-bandit"
BANDIT = GaussianBandit(num_arms=3, horizon=8)


@ft.cache
def small_bandit() -> Artifact:
    """Untrained, and certified for 0.1 although nobody tested it."""
    config = NetConfig(TransformerConfig(width=8, num_layers=1, num_heads=2))
    nets = random_weights(
        lambda key: ExplorerNets(BANDIT.spec, config, PriceRange(0.0001, 0.2), key=key)
    )
    artifact = Artifact(nets=nets, family=BANDIT, training={}, provenance={})
    certificate = unearned_certificate(
        error_prob=0.1,
        price=0.0001,
        weights=artifact.weights_hash,
        fingerprint=fingerprint(BANDIT),
    )
    return artifact.with_certificate(certificate)


def models_folder(folder: Path) -> Path:
    """The folder, with the model in it."""
    small_bandit().save(folder / f"{BANDIT_MODEL}.safetensors")
    return folder
