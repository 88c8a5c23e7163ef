"""What networks may be made of, family by family, and how prices are read."""

import dataclasses

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from icpe.core.errors import InvalidParameterError
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.nets.tokens import EntrySummary
from icpe.nets.transformer import TransformerConfig

TINY = TransformerConfig(width=8, num_layers=2, num_heads=2)
SPEC = TaskSpec(num_queries=3, num_hypotheses=4, outcome_size=2, horizon=5)
ARMS = dataclasses.replace(SPEC, num_hypotheses=3)


@pytest.mark.parametrize("summary", [True, False])
def test_entries_are_summarized_only_where_outcomes_have_flags(summary):
    config = NetConfig(TINY, summary, entry_summary=True)
    flagged = dataclasses.replace(SPEC, outcome_flags=True)
    spec = SPEC if summary else flagged
    with pytest.raises(InvalidParameterError, match="entry_summary needs summary, and"):
        config.summary_kind(spec)
    kind = NetConfig(TINY, entry_summary=True).summary_kind(flagged)
    assert kind is EntrySummary


def test_tied_heads_need_a_summary():
    with pytest.raises(InvalidParameterError, match="set tied_head to False as well"):
        NetConfig(TINY, summary=False, tied_head=True)


@pytest.mark.parametrize(
    "spec, entries",
    [
        (SPEC, False),  # 4 hypotheses for 3 queries
        (dataclasses.replace(ARMS, outcome_flags=True), True),  # 1 entry
    ],
    ids=["hypotheses", "entries"],
)
def test_tied_heads_need_one_hypothesis_and_one_entry_for_each_query(spec, entries):
    config = NetConfig(TINY, entry_summary=entries, tied_head=True)
    with pytest.raises(InvalidParameterError, match=r"3 queries, \d hypotheses and"):
        ExplorerNets(spec, config, PriceRange(0.01, 0.2), key=jr.key(0))


def test_log_prices_are_spread_over_an_interval():
    spread = PriceRange(0.01, 0.2).normalize(
        jnp.asarray([0.01, np.sqrt(0.01 * 0.2), 0.2, 0.0])
    )
    np.testing.assert_allclose(spread, [-1.0, 0.0, 1.0, 0.0], atol=1e-6)
