"""Does the default recipe serve families that nobody has seen as well as their rule?

    python benchmarks/strangers.py [NAME ..]

trains each of `stranger_families.py` with the recipe for a CPU, and plays it on fresh
episodes at eight prices, side by side with greedy information gain and the exact
posterior. Prints the ratio of costs where both are as sure, by the exact posterior at
their stops, with an interval of two standard errors from blocks of paired episodes.
"""

import argparse
import dataclasses
import time

import jax.random as jr
import numpy as np
import stranger_families

from icpe.cli.runtime import keep_compiled_programs
from icpe.core.family import AbstractTaskFamily
from icpe.core.programs import jit_program
from icpe.core.request import OperatingPoint, Regime
from icpe.evaluate.settle import settle
from icpe.evaluate.thresholds import ThresholdEpisodes, read_positions
from icpe.explorers import make_explorer
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.rules.belief_explorer import BeliefExplorer
from icpe.learn.fit import fit
from icpe.learn.recipe import preset
from icpe.play.rollout import rollout
from icpe.workflow import Judging

NAMES = (
    *("Ring", "RingBlind", "Counts", "Plane", "Priced", "Many", "Twenty"),
    *("Tired", "TiredBlind", "Context", "ContextBlind"),
    *("Samples", "SamplesHalf", "SamplesBlind"),
)
EPISODES = 8192
SEED = 4242
_NUM_PRICES = 8
_NUM_BLOCKS = 8


def train(family: AbstractTaskFamily) -> tuple[ExplorerNets, float]:
    """What would ship, and the seconds that it took."""
    start = time.perf_counter()
    config = preset("cpu", family)
    judging = Judging(family, config, ends_early=True)
    result = fit(family, config, judge=judging)
    assert isinstance(result.nets, ExplorerNets)
    nets = settle(result.nets, family, 4096, seed=config.seed)
    return nets, time.perf_counter() - start


def compare(nets: ExplorerNets, family, reference) -> list[str]:
    """A line for each price."""
    keys = jr.split(jr.key(SEED), EPISODES)
    play, horizon = jit_program(rollout), family.spec.horizon
    rule = make_explorer("information-gain", reference)
    assert isinstance(rule, BeliefExplorer)
    whole = OperatingPoint.at(horizon, budget=horizon)
    theirs = read_positions(
        rule.belief, family.spec, play(rule, family, whole, keys=keys)
    )
    lines = []
    for price in np.geomspace(nets.prices.low, nets.prices.high, _NUM_PRICES + 1)[:-1]:
        point = OperatingPoint.at(horizon, price=float(price))
        point = dataclasses.replace(point, regime=Regime.MIXED)
        played = play(NeuralExplorer(nets.for_play()), family, point, keys=keys)
        found = read_positions(rule.belief, family.spec, played)
        rows = np.arange(EPISODES)
        sure, cost = found.sure[rows, found.length], found.paid[rows, found.length]
        if cost.mean() < 0.5:
            continue
        middle = _log_ratio(sure, cost, theirs, rows)
        blocks = np.array_split(rows, _NUM_BLOCKS)
        each = [_log_ratio(sure, cost, theirs, block) for block in blocks]
        error = 2 * np.std(each, ddof=1) / np.sqrt(_NUM_BLOCKS)
        low, ratio, high = np.exp([middle - error, middle, middle + error])
        right = float(np.mean(played.ending.correct))
        lines.append(
            f"  right {right:.4f}, sure {sure.mean():.4f}, cost {cost.mean():.2f}: "
            f"{ratio:.3f} [{low:.3f}, {high:.3f}]"
        )
    return lines


def _log_ratio(sure, cost, theirs: ThresholdEpisodes, rows) -> float:
    """Of the costs of some episodes, where the rule is as sure or as it ever is."""
    part = ThresholdEpisodes(
        theirs.sure[rows], theirs.right[rows], theirs.paid[rows], theirs.length[rows]
    )
    other = part.expected_cost(float(sure[rows].mean()))
    other = part.paid[:, -1].mean() if other is None else other
    return float(np.log(max(cost[rows].mean(), 1e-3) / max(other, 1e-3)))


def main() -> None:
    """Prints as it goes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=NAMES)
    keep_compiled_programs()
    for name in parser.parse_args().names:
        family = getattr(stranger_families, name)()
        known = name.removesuffix("Blind").removesuffix("Half")
        nets, seconds = train(family)
        print(f"{name}: {seconds:.0f} s, {nets.config.predictions}", flush=True)
        lines = compare(nets, family, getattr(stranger_families, known)())
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
