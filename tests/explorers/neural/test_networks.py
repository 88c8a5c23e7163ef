"""The two networks: passes that agree, what each may see, and tied heads."""

import dataclasses
import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax import lax

from icpe.core.history import History
from icpe.core.request import OperatingPoint, Regime
from icpe.core.spec import TaskSpec
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.inputs import Asked
from icpe.explorers.neural.networks import ExplorerNets
from icpe.nets.transformer import TransformerConfig
from support.random_weights import random_weights

EPISODES = 3
SPEC = TaskSpec(
    num_queries=3,
    num_hypotheses=4,
    outcome_size=2,
    horizon=5,
    outcome_shift=(0.5, -1.0),
    outcome_scale=(2.0, 0.1),
    costs=(1.0, 2.0, 0.5),
)
TINY = TransformerConfig(width=8, num_layers=2, num_heads=2)
PRICES = PriceRange(0.01, 0.2)
ARMS = dataclasses.replace(SPEC, num_hypotheses=3)
GRAPH = dataclasses.replace(
    ARMS, outcome_size=6, outcome_shift=(), outcome_scale=(), outcome_flags=True
)


def random_nets(spec=SPEC, transformer=TINY, summary=True, belief=True, tied=False):
    """Networks whose outputs are far from 0."""
    config = NetConfig(
        transformer, summary, belief, entry_summary=spec.outcome_flags, tied_head=tied
    )
    scale = 0.3 if tied else 0.7  # a tied head has more layers to grow through
    return random_weights(
        lambda key: ExplorerNets(spec, config, PRICES, key=key), scale=scale
    )


def random_history(spec=SPEC):
    query_key, outcome_key = jr.split(jr.key(1))
    queries = jr.randint(query_key, (EPISODES, SPEC.horizon), 0, SPEC.num_queries)
    shape = (EPISODES, SPEC.horizon + 1, spec.outcome_size)
    outcomes = jr.normal(outcome_key, shape)
    if spec.outcome_flags:
        revealed = outcomes[..., 3:] > 0
        entries = jnp.where(revealed, outcomes[..., :3], 0.0)
        outcomes = jnp.concatenate([entries, revealed.astype(float)], axis=-1)
    return History(queries, outcomes, jnp.full(EPISODES, SPEC.horizon))


PRICE = (0.02, 0.0, 0.2)
CAPS = (5, 4, 2)


def points():
    return OperatingPoint(
        price=jnp.asarray(PRICE),
        error_prob=jnp.zeros(EPISODES),
        max_queries=jnp.asarray(CAPS),
        regime=Regime.MIXED,
    )


@eqx.filter_jit
def step_by_step(nets, history, is_rough=False):
    """The estimates at every position of each episode, by init and tell."""
    explorer = NeuralExplorer(nets.for_play(), is_rough=is_rough)

    def episode(point, queries, outcomes):
        first = explorer.init(nets.spec, point, outcomes[0])

        def step(state, given):
            state = explorer.tell(state, *given)
            return state, state.estimates

        _, later = lax.scan(step, first, (queries, outcomes[1:]))
        return jax.tree.map(
            lambda one, rest: jnp.concatenate([one[None], rest]),
            first.estimates,
            later,
        )

    return jax.vmap(episode)(points(), history.queries, history.outcomes)


@eqx.filter_jit
def at_once(nets, history, is_rough=False):
    asked = (points().price, points().max_queries)
    return nets.along(nets.see(history), *asked, is_rough=is_rough)


@pytest.mark.parametrize(
    "build",
    [
        random_nets,
        ft.partial(random_nets, summary=False),
        ft.partial(random_nets, ARMS, belief=False, tied=True),
        ft.partial(random_nets, GRAPH, belief=False, tied=True),
    ],
    ids=["with summary", "without", "with tied heads", "with a reach"],
)
def test_one_pass_gives_what_the_explorer_sees_step_by_step(build):
    nets = build()
    history = random_history(nets.spec)
    whole, steps = at_once(nets, history), step_by_step(nets, history)
    assert np.std(whole.gain) > 0.1
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(steps), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_if_tied_heads_are_all_there_is_renaming_arms_renames_what_is_said_of_them():
    alike = dataclasses.replace(ARMS, costs=())
    nets, history = random_nets(alike, belief=False, tied=True), random_history()
    nets = eqx.tree_at(
        lambda nets: nets.pair.head,
        nets,
        jax.tree.map(jnp.zeros_like, nets.pair.head),
    )
    renamed = jnp.asarray([2, 0, 1])
    other = dataclasses.replace(history, queries=renamed[history.queries])
    one, two = at_once(nets, history), at_once(nets, other)
    for before, after in zip(jax.tree.leaves(one), jax.tree.leaves(two), strict=True):
        np.testing.assert_allclose(before, after[..., renamed], atol=1e-4)
    assert np.std(one.gain, axis=-1).max() > 0.1


def test_in_training_tied_heads_are_rounded_but_close_outcomes_stay_apart():
    rounding = dataclasses.replace(TINY, bfloat16=True)
    nets = random_nets(ARMS, rounding, belief=False, tied=True)
    history = random_history(ARMS)
    with jax.numpy_dtype_promotion("standard"):  # which jax's attention needs
        exact, rough = at_once(nets, history), at_once(nets, history, is_rough=True)
        played = step_by_step(nets, history, is_rough=True)
        shipped = step_by_step(nets, history)
    spread = np.std(exact.gain)
    assert 0 < np.abs(rough.gain - exact.gain).max() < 0.2 * spread
    assert 0 < np.abs(played.gain - shipped.gain).max() < 0.2 * spread
    # A thousandth of their spread lies below the resolution of bfloat16 at 1.
    head = jax.tree.map(lambda leaf: leaf[0], nets.tied_heads)
    head = eqx.tree_at(lambda it: it.embed.weight, head, 1000.0 * head.embed.weight)
    size, number = head.embed.weight.shape
    features = jnp.ones((3, number)).at[:, 1].set(jnp.asarray([1.0, 1.001, 1.002]))
    judged = head(jnp.zeros(size), features, dtype=jnp.bfloat16)
    assert len(np.unique(judged)) == 3
    features = 1e-3 * jr.normal(jr.key(1), (3, number))
    one, other = (
        np.asarray(head(jnp.zeros(size), features, dtype=dtype))
        for dtype in (jnp.float32, jnp.bfloat16)
    )
    assert 0 < np.abs(one - other).max() < 0.05 * np.std(one)


ASKED = Asked(jnp.asarray(0.02), jnp.asarray(5))


def tied_estimates(nets, outputs, summary):
    return nets._estimates(outputs, ASKED, summary, None, jnp.float32)


def test_the_tied_head_of_the_query_net_sees_the_belief_and_its_own_context():
    """The rest that it sees, outputs of the query net and summary, is fixed."""
    nets = random_nets(ARMS, belief=False, tied=True)
    size = nets.config.context_size
    summary = jr.normal(jr.key(0), (9,))
    outputs = jr.normal(jr.key(1), (2, 3 + size))
    before = tied_estimates(nets, outputs, summary)
    unlike = tied_estimates(nets, outputs.at[0, 1].add(1.0), summary)
    error, other = 1.0 - before.stop_value, 1.0 - unlike.stop_value
    removed = (before.gain + 0.02 * jnp.asarray(ARMS.costs)) / error
    assert not np.allclose(
        removed, (unlike.gain + 0.02 * jnp.asarray(ARMS.costs)) / other, atol=1e-3
    )
    elsewhere = tied_estimates(nets, outputs.at[1, 3:].add(1.0), summary)
    np.testing.assert_array_equal(elsewhere.log_posterior, before.log_posterior)
    assert np.all(np.abs(elsewhere.gain - before.gain) > 1e-3)


def test_the_gain_has_no_gradient_in_the_tied_head_of_the_inference_net():
    nets, history = random_nets(ARMS, belief=False, tied=True), random_history()
    gradient = eqx.filter_grad(lambda nets: jnp.sum(at_once(nets, history).gain))(nets)
    assert gradient.tied_heads is not None
    inference, query = np.asarray(gradient.tied_heads.embed.weight)
    assert not inference.any() and query.any()


def test_what_queries_tell_about_is_learned_where_entries_are_summarized():
    apart = random_nets(ARMS, belief=False, tied=True).tied_heads
    assert apart is not None and apart.reach is None
    nets, history = random_nets(GRAPH, belief=False, tied=True), random_history(GRAPH)
    gradient = eqx.filter_grad(lambda nets: jnp.sum(at_once(nets, history).gain))(nets)
    assert gradient.tied_heads is not None and gradient.tied_heads.reach is not None
    inference, query = np.asarray(gradient.tied_heads.reach.weights)
    assert not inference.any() and np.all(query != 0)


@pytest.mark.slow
def test_the_posterior_adds_a_linear_part_to_what_queries_remove():
    nets, history = random_nets(), random_history()
    whole, plain = at_once(nets, history), at_once(random_nets(belief=False), history)
    np.testing.assert_array_equal(whole.log_posterior, plain.log_posterior)
    posterior = np.exp(whole.log_posterior)
    weight = np.asarray(nets.pair.belief_head)[1, : SPEC.num_queries]
    removed = np.einsum("...h,ah->...a", posterior, weight)
    error = 1.0 - posterior.max(axis=-1, keepdims=True)
    np.testing.assert_allclose(whole.gain - plain.gain, error * removed, atol=1e-4)


@pytest.mark.slow
def test_in_bfloat16_both_passes_agree_up_to_rounding():
    nets = random_nets(transformer=dataclasses.replace(TINY, bfloat16=True))
    with jax.numpy_dtype_promotion("standard"):  # jax's own attention mixes dtypes
        whole = at_once(nets, random_history())
    steps = step_by_step(nets, random_history())
    # Outputs are sums of 8 products of size 7, each rounded to 8 bits.
    np.testing.assert_allclose(
        jnp.exp(whole.log_posterior), jnp.exp(steps.log_posterior), atol=0.1
    )
    np.testing.assert_allclose(whole.gain, steps.gain, atol=0.5)
    assert np.mean(np.abs(whole.gain - steps.gain)) < 0.1


@pytest.mark.slow
def test_later_outcomes_and_queries_do_not_change_earlier_estimates():
    nets, history = random_nets(), random_history()
    before = at_once(nets, history)
    for t in range(1, SPEC.horizon + 1):
        other = History(
            history.queries.at[:, t - 1].add(1) % 3,
            history.outcomes.at[:, t].add(1.0),
            history.length,
        )
        changed = at_once(nets, other)
        for new, old in zip(
            jax.tree.leaves(changed), jax.tree.leaves(before), strict=True
        ):
            np.testing.assert_array_equal(new[:, :t], old[:, :t])
            assert np.all(np.any(new[:, t:] != old[:, t:], axis=2))


@pytest.mark.slow
def test_the_inference_net_knows_neither_price_nor_budget():
    nets, history = random_nets(), random_history()
    one = nets.along(nets.see(history), jnp.full(3, 0.01), jnp.full(3, 5))
    other = nets.along(nets.see(history), jnp.full(3, 0.2), jnp.full(3, 2))
    np.testing.assert_array_equal(one.log_posterior, other.log_posterior)
    assert np.all(np.any(one.gain != other.gain, axis=2))


def test_the_posterior_is_normalized():
    whole = at_once(random_nets(), random_history())
    total = np.exp(whole.log_posterior).sum(-1)
    np.testing.assert_allclose(total, 1.0, atol=1e-5)
    best = np.exp(whole.log_posterior).max(-1)
    np.testing.assert_allclose(whole.stop_value, best, rtol=1e-5)


@pytest.mark.slow
def test_values_of_queries_do_not_teach_the_inference_net():
    def total(nets):
        return jnp.sum(at_once(nets, random_history()).gain)

    gradient = eqx.filter_grad(total)(random_nets())
    inference, query = (
        [np.any(np.asarray(leaf)[i] != 0) for leaf in jax.tree.leaves(gradient)]
        for i in (0, 1)
    )
    assert not any(inference)
    assert np.mean(query) > 0.9


@pytest.mark.parametrize("can_stop, unit", [(True, 0.0), (False, 0.1)])
def test_with_a_sure_answer_queries_differ_only_where_one_cannot_stop(can_stop, unit):
    spec = dataclasses.replace(SPEC, can_stop=can_stop, costs=())
    nets = random_nets(spec, belief=False)
    sure, removed = jnp.asarray([100.0, 0, 0, 0]), jnp.asarray([2.0, -1.0, 0.0, 0])
    outputs = jnp.stack([sure, removed])
    gain = nets._estimates(outputs, ASKED, None, None, jnp.float32).gain
    expected = np.asarray([2.0, -1.0, 0.0]) * unit - 0.02  # 5 queries at 0.02 left
    np.testing.assert_allclose(gain, expected, atol=1e-6)
