"""One recipe for every family: a configuration from what the family is.

It looks at the spec and at a short simulation (`icpe.learn.survey`), never at a name.
"""

import dataclasses

from icpe.core.belief import AbstractPredictiveBelief
from icpe.core.conformance import explaining
from icpe.core.errors import UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.core.likelihood import has_belief
from icpe.core.spec import TaskSpec
from icpe.learn.config import TrainConfig
from icpe.learn.given import operations_of
from icpe.learn.pilot import LONGEST_PILOT
from icpe.learn.shape import trust_of
from icpe.learn.survey import (
    SIZES,
    Machine,
    Survey,
    can_be_counted,
    machine_here,
    survey,
)

_CPU = TrainConfig(
    num_iterations=400,
    batch_size=256,
    minibatch_size=256,
    updates_per_iteration=2,
    replay_size=4096,
    warmup_iterations=40,
    learning_rate=2e-3,
    width=32,
    num_layers=2,
    num_heads=2,
    log_every=20,
)

_GPU = TrainConfig(
    num_iterations=3000,
    batch_size=1024,
    minibatch_size=512,
    updates_per_iteration=8,
    replay_size=32768,
    warmup_iterations=150,
    exploration_anneal=0.09,
    ignore_stop_anneal=0.13,
    bfloat16=True,
)

_SMALL_STEPS = {"cpu": 5e-4, "gpu": 3e-4}
"""Step sizes that do not spoil a good start."""
_FEWER = {"cpu": 300, "gpu": 800}
"""Iterations that are enough from there."""
_MANY_JUDGED = {"cpu": 2**20, "gpu": 2**27}
"""Queries judged in an iteration, at all positions, from which it takes long."""
_MANY_LEARNED = {"cpu": 2**21, "gpu": 2**26}
"""Queries judged in a gradient step, at all positions; each takes some kilobytes."""
_LEAST_CHUNKS = 3
_LONG_HORIZON = 32
"""From here on most episodes are much shorter than the horizon."""
_ALL = 0.9995
"""From this accuracy on, there is nothing left to get right."""
_TRUSTED = 0.75
"""From this share of evidence on, the lengths of a greedy rule's episodes tell."""
_ENOUGH = 1.5
"""Times the queries of a greedy rule, which are enough for most episodes."""
_FEWEST = 4
"""Where an episode takes long, the usual number of them is divided by at most this."""


def recipe(
    machine: Machine, family: AbstractTaskFamily, found: Survey | None = None
) -> TrainConfig:
    """The configuration for a family.

    Args:
        machine: `cpu` for two cores and small networks, `gpu` for one modern GPU.
        family: what is trained for.
        found: the survey of the family; made if None.
    """
    if found is None:
        with explaining(family):
            found = survey(family, machine)
    config = {"cpu": _CPU, "gpu": _GPU}[machine]
    # Where some of the evidence does not hold, there is more to learn than to correct.
    is_good_start = trust_of(config, found) == 1.0
    changes = _from_good_tables(machine, config, family.spec) if is_good_start else {}
    changes |= _lengths(config, family.spec, found)
    changes |= _sizes(machine, config, family.spec, found)
    return dataclasses.replace(config, **changes)


def outlook(family: AbstractTaskFamily, config: TrainConfig) -> str:
    """How good a simple rule is, in one sentence; empty where that is not known.

    The rule is greedy, with counted tables. Training seldom falls short of it, and goes
    far beyond it where hypotheses do not settle what queries tell.
    """
    machine = machine_here()
    found = survey(family, machine)
    pilot = found.pilot
    if pilot is None:
        return _without_tables(family.spec, found, machine)
    best = max(pilot.at_horizon, *pilot.accuracy)
    hope = "get more" if best < _ALL else "need fewer queries"
    sentence = (
        f"{_with_queries(family.spec)}, a simple rule gets about {best:.3f} of the "
        f"answers right; training may {hope}."
    )
    if config.error_prob and 1.0 - config.error_prob > best + 0.01:
        more = "" if _asks_all(family.spec) else ", or a longer horizon"
        if found.given is None and _posterior_is_unknown(family):
            sentence += (
                f" Whether an error probability of {config.error_prob:g} is within "
                "reach this rule cannot say, since it takes answers to depend on the "
                "hypothesis alone; if training does not get there, choose a larger "
                f"one{more}."
            )
        else:
            sentence += (
                f" An error probability of {config.error_prob:g} may be out of reach; "
                f"if so, choose a larger one{more}."
            )
    belief = _belief_that_looks_ahead(family) if found.given is None else None
    if belief is not None:
        sentence += (
            " The exact posterior is known, but too slow to train with on this "
            "machine; icpe rule makes an explorer of it without training"
        )
        each = operations_of(belief, family.spec) / (family.spec.horizon + 1)
        longest = int(SIZES[machine].slow_belief / each) - 1
        if longest >= _ENOUGH * max(pilot.mean_queries):
            sentence += f", and with a horizon of {longest} it is fast enough"
        sentence += "."
    return sentence


def _without_tables(spec: TaskSpec, found: Survey, machine: str) -> str:
    """Why nothing is known before training starts, where that is for its size."""
    if can_be_counted(spec, found, machine):
        return ""
    pairs = f"{spec.num_hypotheses} hypotheses and {spec.num_queries} queries"
    hope = "; a GPU can count more" if machine == "cpu" else ""
    return (
        f"With {pairs} there are too many pairs to count what each hypothesis predicts "
        f"of each query, so training starts from nothing and may need very long{hope}."
        " With fewer queries or hypotheses, or with a log_likelihood and icpe rule, "
        "less is to be learned."
    )


def _asks_all(spec: TaskSpec) -> bool:
    """Whether an episode ends when every query has been made."""
    return spec.ask_once and spec.num_queries <= spec.horizon


def _with_queries(spec: TaskSpec) -> str:
    """As far as the pilot goes, in words."""
    if _asks_all(spec):
        return f"With all {spec.num_queries} queries"
    if spec.horizon > LONGEST_PILOT:
        return f"With {LONGEST_PILOT} of the {spec.horizon} queries of the horizon"
    queries = "query" if spec.horizon == 1 else "queries"
    return f"With the {spec.horizon} {queries} of the horizon"


def _posterior_is_unknown(family: AbstractTaskFamily) -> bool:
    try:
        return not has_belief(family)
    except UnsupportedError:
        return True


def _belief_that_looks_ahead(
    family: AbstractTaskFamily,
) -> AbstractPredictiveBelief | None:
    try:
        belief = family.exact_belief()
    except UnsupportedError:
        return None
    return belief if isinstance(belief, AbstractPredictiveBelief) else None


def preset(name: Machine, family: AbstractTaskFamily) -> TrainConfig:
    """The recipe's configuration for a family on a machine."""
    return recipe(name, family)


def _from_good_tables(machine: Machine, config: TrainConfig, spec: TaskSpec) -> dict:
    """Networks that start as a good rule need little random play, and small steps.

    Where an iteration takes long, there are fewer of them: the start is most of what
    two cores can get in some minutes.
    """
    judged = config.batch_size * (spec.horizon + 1) * spec.num_queries
    share = min(1.0, _MANY_JUDGED[machine] / judged)
    chunks = max(_LEAST_CHUNKS, round(share * _FEWER[machine] / config.log_every))
    return {
        "num_iterations": min(_FEWER[machine], chunks * config.log_every),
        "learning_rate": _SMALL_STEPS[machine],
        "target_rate": 0.005,
        "warmup_iterations": config.warmup_iterations // 4,
        "exploration_anneal": 0.02,
        "ignore_stop_anneal": 0.05,
    }


def _sizes(
    machine: Machine, config: TrainConfig, spec: TaskSpec, found: Survey
) -> dict:
    """Fewer episodes at a time where what is known of each takes long to compute, and
    fewer in a gradient step where their queries would take much memory."""
    least = config.batch_size // _FEWEST

    def halved(number: int, each: float, most: float) -> int:
        while number > least and number * each > most:
            number //= 2
        return number

    usual = config.batch_size * SIZES[machine].belief
    played = halved(config.batch_size, found.operations, usual)
    judged = (spec.horizon + 1) * spec.num_queries
    learned = min(played, config.minibatch_size)
    learned = halved(learned, judged, _MANY_LEARNED[machine])
    return {"batch_size": played, "minibatch_size": learned}


def _lengths(config: TrainConfig, spec: TaskSpec, found: Survey) -> dict:
    """How much of episodes most updates look at."""
    if spec.horizon < _LONG_HORIZON:
        return {}
    steps = spec.horizon // 2
    if found.pilot is not None and trust_of(config, found) >= _TRUSTED:
        steps = min(steps, max(8, round(_ENOUGH * max(found.pilot.mean_queries))))
    return {
        "crop_steps": steps,
        "cropped_updates": config.updates_per_iteration * 3 // 4,
    }


def without_noise(family: AbstractTaskFamily) -> str:
    """A sentence where answers have no randomness, which may be a slip; else empty."""
    if survey(family, machine_here()).is_noisy:
        return ""
    return (
        "The same query about the same task always gets the same answer; if it should "
        "not, use the key that step is given."
    )
