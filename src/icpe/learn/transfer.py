"""Fine-tuning: trained networks as the start of another training."""

import dataclasses
from typing import Any

import jax

from icpe.core.errors import UnsupportedError
from icpe.explorers.neural.config import NetConfig
from icpe.explorers.neural.networks import ExplorerNets
from icpe.learn.config import TrainConfig

_SIZES = ("num_queries", "num_hypotheses", "outcome_size", "horizon")
_KEPT = ("outcome_shift", "outcome_scale", "reads_worth")
"""What the networks to start from have measured for them, or do not have, and keep."""


def like_networks(config: TrainConfig, nets: ExplorerNets) -> TrainConfig:
    """The configuration with the Transformers and the price range of trained ones."""
    return dataclasses.replace(
        config,
        **dataclasses.asdict(nets.config.transformer),
        predictions="none" if nets.predictions is None else config.predictions,
        min_price=nets.prices.low,
        max_price=nets.prices.high,
    )


def transfer(nets: ExplorerNets, fresh: ExplorerNets) -> ExplorerNets:
    """The weights of trained networks in fresh ones for another training.

    The family may be another one as long as its sizes are the same; tables and prices
    are those of the fresh networks.

    Raises:
        UnsupportedError: the networks do not fit; the message names the field.
    """
    found, expected = _settings(nets), _settings(fresh)
    for name, value in expected.items():
        if found[name] != value:
            raise UnsupportedError(
                f"The networks to start from do not fit: their {name} is "
                f"{found[name]}, and {value} is asked for; make them equal, or train "
                "from scratch."
            )
    kept = {name: getattr(nets.config, name) for name in _KEPT}
    like = dataclasses.replace(fresh.config, **kept)
    shell = ExplorerNets.shell(fresh.spec, like, fresh.prices, fresh.predictions)
    leaves = jax.tree.leaves(nets.trainable())
    weights = jax.tree.unflatten(jax.tree.structure(shell.trainable()), leaves)
    return weights.with_predictions(fresh.predictions)


def _settings(nets: ExplorerNets) -> dict[str, Any]:
    """What must be equal, by name."""
    sizes = {name: getattr(nets.spec, name) for name in _SIZES}
    return sizes | _network_settings(nets.config)


def _network_settings(config: NetConfig) -> dict[str, Any]:
    fields = dataclasses.asdict(config)
    for name in _KEPT:
        del fields[name]
    if fields["predictions"] is not None:
        del fields["predictions"]["trust"]
    return fields.pop("transformer") | fields
