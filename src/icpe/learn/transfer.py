"""Fine-tuning: trained networks as the start of another training."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.random as jr

from icpe.core.errors import UnsupportedError
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.networks import ExplorerNets
from icpe.learn.config import TrainConfig

_SIZES = ("num_queries", "num_hypotheses", "outcome_size", "horizon")


def like_networks(config: TrainConfig, nets: ExplorerNets) -> TrainConfig:
    """The configuration with the networks and the price range of trained ones."""
    return dataclasses.replace(
        config,
        **_network_settings(nets.config),
        min_price=nets.prices.low,
        max_price=nets.prices.high,
    )


def transfer(nets: ExplorerNets, spec: TaskSpec, config: TrainConfig) -> ExplorerNets:
    """The same weights in networks for a family and a configuration.

    The family may be another one as long as its sizes are the same; prices are read
    in the range of the configuration.

    Raises:
        UnsupportedError: the networks do not fit; the message names the field.
    """
    found = {name: getattr(nets.spec, name) for name in _SIZES}
    expected = {name: getattr(spec, name) for name in _SIZES}
    found |= _network_settings(nets.config)
    expected |= _network_settings(config.net_config)
    for name, value in expected.items():
        if found[name] != value:
            raise UnsupportedError(
                f"The networks to start from do not fit: their {name} is "
                f"{found[name]}, and {value} is asked for; make them equal, or train "
                "from scratch."
            )
    skeleton = eqx.filter_eval_shape(
        lambda key: ExplorerNets(spec, config.net_config, config.prices(spec), key=key),
        jr.key(0),
    )
    return jax.tree.unflatten(jax.tree.structure(skeleton), jax.tree.leaves(nets))


def _network_settings(config: Any) -> dict[str, Any]:
    """The fields of a `NetConfig` under their names in a `TrainConfig`."""
    fields = dataclasses.asdict(config)
    return fields.pop("transformer") | fields
