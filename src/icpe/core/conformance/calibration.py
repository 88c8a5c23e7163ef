"""Whether a likelihood or a belief is that of the simulator, by bets against it.

A bet is a ratio whose mean is 1 if the law under test is true: what another law gives
to that which happened, over what the law under test gives to it. The product over
independent episodes, and a mean of such products, has mean 1 too, so that by Markov's
inequality it reaches 1e6 with probability at most 1e-6, even if more episodes are
played only where the first ones look suspicious (Ville's inequality). Nothing is
approximated: the other laws are normalized, and those that are learned are learned on
other episodes.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax import lax
from jaxtyping import Float, Int
from scipy.special import log_softmax, logsumexp

from icpe.core.belief import AbstractBelief
from icpe.core.conformance import compare
from icpe.core.conformance.episodes import play_one
from icpe.core.episode import allowed_queries, asked_along
from icpe.core.errors import ConformanceError
from icpe.core.family import AbstractTaskFamily

_LOG_WEALTH = np.log(1e6)
"""A true law is refused with probability at most 1e-6 by each of the two bets."""
_NUM_EPISODES, _NUM_EPISODES_ON_HOST = 2048, 64
_MOST_BATCHES = 8
_MOST_STEPS = 24
_TOGETHER = 128
_LARGEST_COUNT = 2**24
_POWERS = (0.25, 0.5, 0.7, 0.85, 0.95, 1.05, 1.15, 1.4, 2.0, 4.0)
_SHARES = (0.001, 0.01, 0.05, 0.2, 0.5)
_STRENGTHS = (3.0, 30.0, 300.0)

LogPosteriors = Float[np.ndarray, "episodes hypotheses"]


def check_outcomes(
    hypotheses: Int[np.ndarray, "tasks"],
    outcomes: Int[np.ndarray, "tasks queries"],
    log_likelihoods: Float[np.ndarray, "tasks queries"],
) -> None:
    """Bets that finitely many outcomes are as frequent as their likelihood says.

    Half of the tasks give the frequencies, the others judge. These are mixed with the
    likelihood itself, so that few tasks do not say much.

    Args:
        hypotheses: the truth of each task.
        outcomes: the number of the outcome of each query.
        log_likelihoods: what the family says about it.
    """
    size = int(outcomes.max()) + 1
    num_queries = outcomes.shape[1]
    if (int(hypotheses.max()) + 1) * num_queries * size > _LARGEST_COUNT:
        return
    cells = hypotheses[:, None].astype(np.int64) * num_queries + np.arange(num_queries)
    half = len(cells) // 2
    told = np.bincount(cells[:half].ravel(), minlength=int(cells.max()) + 1)
    kinds = cells * size + outcomes
    seen = np.bincount(kinds[:half].ravel(), minlength=int(kinds.max()) + 1)
    given = np.exp(log_likelihoods[half:].astype(float))
    trials, successes = told[cells[half:]], seen[kinds[half:]]
    bets = [
        np.sum(np.log((successes + a * given) / (trials + a) / given))
        for a in _STRENGTHS
    ]
    if logsumexp(bets) - np.log(len(bets)) < _LOG_WEALTH:
        return
    error = np.sqrt(np.maximum(trials * given * (1.0 - given), 0.0)) + 1.0
    task, query = np.unravel_index(
        np.argmax(np.abs(successes - trials * given) / error), given.shape
    )
    raise ConformanceError(
        f"under hypothesis {hypotheses[half + task]} query {query} had the same "
        f"outcome in {successes[task, query]} of {trials[task, query]} answers of step,"
        f" and log_likelihood gives it probability {given[task, query]:.3g}; let "
        "log_likelihood be the law by which step draws."
    )


def check_belief(family: AbstractTaskFamily, belief: AbstractBelief, name: str) -> None:
    """Bets that a posterior after random queries says how probable the truth is.

    Factors of a likelihood that are the same for all hypotheses do not matter here,
    so that it need not be normalized. Nothing is said where the family ends episodes
    or masks depend on more than the history, since these tell more than outcomes do.

    Args:
        family: the family.
        belief: its belief.
        name: the method from which the belief comes.
    """
    play = _player(family, belief)
    bets, truths, posteriors = 0.0, [], []
    for batch in range(_MOST_BATCHES):
        hypotheses, logs, ended = play(batch)
        if ended:
            return
        logs = _checked(logs, hypotheses, name)
        truths.append(hypotheses)
        posteriors.append(logs)
        bets = bets + _log_bets(logs, hypotheses)
        wealth = logsumexp(bets) - np.log(np.size(bets))
        if wealth >= _LOG_WEALTH:
            break
        if wealth <= 0.0:
            return
    else:
        return
    hypotheses, logs = np.concatenate(truths), np.concatenate(posteriors)
    found = float(np.exp(logs[np.arange(len(logs)), hypotheses]).mean())
    promised = float(np.exp(2.0 * logs).sum(axis=1).mean())
    raise ConformanceError(
        f"the posterior by {name} is not that of the simulator: on {len(logs)} random "
        f"episodes it gave the true hypothesis {found:.3f} on average, and by its own "
        f"account {promised:.3f}; let {name} be the law by which step draws, which "
        "must depend on the hypothesis, the query and the outcomes so far alone."
    )


def _checked(
    logs: LogPosteriors, hypotheses: Int[np.ndarray, "episodes"], name: str
) -> LogPosteriors:
    """The posteriors, normalized, if they can be posteriors at all."""
    sums = np.exp(logs).sum(axis=1)
    if np.any(~(np.abs(sums - 1.0) < 1e-2)):
        worst = sums[np.argmax(np.nan_to_num(np.abs(sums - 1.0), nan=np.inf))]
        raise ConformanceError(
            f"the posterior by {name} sums to {worst:.4g} after random queries; let it "
            "be log-probabilities, none of them NaN."
        )
    logs = log_softmax(logs, axis=1)
    if np.any(np.isneginf(logs[np.arange(len(logs)), hypotheses])):
        raise ConformanceError(
            f"the posterior by {name} gives the true hypothesis probability 0 after "
            "random queries; let every outcome that step can give be possible."
        )
    return logs


def _log_bets(
    logs: LogPosteriors, hypotheses: Int[np.ndarray, "episodes"]
) -> Float[np.ndarray, "bets"]:
    """Bets on posteriors that are surer, less sure, or tilted to some hypotheses."""
    number = logs.shape[1]
    bets = [
        _ratios(log_softmax(power * logs, axis=1), logs, hypotheses).sum()
        for power in _POWERS
    ]
    true = logs[np.arange(len(logs)), hypotheses]
    bets += [
        np.sum(np.logaddexp(np.log1p(-share) + true, np.log(share / number)) - true)
        for share in _SHARES
    ]
    half = len(logs) // 2
    expected = np.exp(logs[:half]).sum(axis=0)
    counts = np.bincount(hypotheses[:half], minlength=number)
    for strength in _STRENGTHS:
        tilt = np.log((counts + strength) / (expected + strength))
        tilted = log_softmax(logs[half:] + tilt, axis=1)
        bets.append(_ratios(tilted, logs[half:], hypotheses[half:]).sum())
    return np.array(bets)


def _ratios(
    others: LogPosteriors, logs: LogPosteriors, hypotheses: Int[np.ndarray, "episodes"]
) -> Float[np.ndarray, "episodes"]:
    rows = np.arange(len(hypotheses))
    return others[rows, hypotheses] - logs[rows, hypotheses]


def _player(
    family: AbstractTaskFamily, belief: AbstractBelief
) -> Callable[[int], tuple[np.ndarray, np.ndarray, bool]]:
    """Plays batches of random episodes.

    A batch has truths, log-posteriors after random numbers of random queries, and
    whether the family ended an episode.
    """
    spec = family.spec
    number = _NUM_EPISODES_ON_HOST if family.on_host else _NUM_EPISODES
    steps = min(_MOST_STEPS, spec.horizon)
    if spec.ask_once:
        steps = min(steps, spec.num_queries)

    def play(key):
        score_key, length_key, key = jr.split(key, 3)
        scores = jr.uniform(score_key, (steps, spec.num_queries))
        episode = play_one(family, scores, jr.split(key, steps + 2))
        length = jr.randint(length_key, (), 1, steps + 1)
        asked = asked_along(episode.queries, spec.num_queries) & spec.ask_once
        allowed = allowed_queries(episode.masks, asked)[:-1]
        may_ask = jnp.cumprod(jnp.any(allowed, axis=1).astype(jnp.int32)) == 1
        made = (jnp.arange(steps) < length) & may_ask

        def update(state, given):
            made, query, outcome = given
            new = belief.update(state, query, outcome)
            return jax.tree.map(lambda a, b: jnp.where(made, a, b), new, state), None

        given = (made, episode.queries, episode.outcomes[1:])
        state, _ = lax.scan(update, belief.init(episode.outcomes[0]), given)
        ended = jnp.any(episode.terminated)
        return episode.hypothesis, belief.log_posterior(state), ended

    run = compare.jit_once(
        lambda key: lax.map(play, jr.split(key, number), batch_size=_TOGETHER)
    )

    def batch(seed: int) -> tuple[np.ndarray, np.ndarray, bool]:
        hypotheses, logs, ended = map(np.asarray, run(jr.key(seed + 1)))
        return hypotheses, logs.astype(float), bool(ended.any())

    return batch
