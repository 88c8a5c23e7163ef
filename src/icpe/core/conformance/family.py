"""What every task family must satisfy, as one function for any test."""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from icpe.core.arrays import PyTree
from icpe.core.conformance import compare
from icpe.core.conformance.episodes import Episodes, play_one
from icpe.core.conformance.family_facts import check_beliefs, check_facts
from icpe.core.errors import ConformanceError, IcpeError
from icpe.core.family import (
    AbstractTaskFamily,
    StepResult,
    data_of,
    parameters,
    same_family,
)
from icpe.core.host import explained
from icpe.core.spec import TaskSpec

_NUM_EPISODES = 32
_NUM_STEPS = 12
_LARGEST_OUTCOME = 1e15


@explained()
def check_family(
    family: AbstractTaskFamily, *, seed: int = 0, beliefs: bool = True
) -> None:
    """Checks that a family keeps its contract (`AbstractTaskFamily`).

    Its parameters and data rebuild it, shapes and ranges are as its spec says, its
    state keeps its structure, it is a pure function of its keys, it runs under `jit`
    and `vmap`, and the facts it states (masks, prior, likelihood) are those of its
    simulator. This is checked on random episodes, so passing is no proof. A right
    family is refused with probability at most 1e-6 for each law that it states.

    Args:
        family: the family.
        seed: of the random episodes.
        beliefs: whether its posteriors are held against thousands of episodes, which
            takes seconds.

    Raises:
        ConformanceError: one sentence that says what is wrong and how to fix it.
    """
    check_is_family(family)
    _check_spec(family)
    _check_parameters(family)
    _check_shapes(family)
    _check_episodes(family, seed)
    if beliefs:
        check_beliefs(family)


@contextlib.contextmanager
def explaining(family: AbstractTaskFamily) -> Iterator[None]:
    """Lets an error inside be explained by the contract that the family breaks.

    Costs nothing where nothing is raised.

    Raises:
        ConformanceError: something was raised, and the family breaks its contract.
    """
    try:
        yield
    except IcpeError:
        raise
    except Exception:
        check_family(family, beliefs=False)
        raise


def check_is_family(family: Any) -> None:
    """Raises one sentence unless it is a family with a spec to look at.

    Raises:
        ConformanceError: it is something else, or its spec is no property.
    """
    if not isinstance(family, AbstractTaskFamily):
        is_class = isinstance(family, type) and issubclass(family, AbstractTaskFamily)
        what = (
            f"its class; call it, as {family.__name__}()" if is_class else repr(family)
        )
        raise ConformanceError(
            f"a family must be an instance of AbstractTaskFamily; got {what}."
        )
    try:
        spec = family.spec
    except IcpeError:  # a TaskSpec that says itself what is wrong with it
        raise
    except Exception as error:
        raise ConformanceError(
            f"spec raised {compare.in_short(error)}; let it be a property that returns "
            "a TaskSpec."
        ) from error
    if not isinstance(spec, TaskSpec):
        what = "a method" if callable(spec) else type(spec).__name__
        raise ConformanceError(
            f"spec is {what}; put @property above it and return a TaskSpec."
        )


def _check_spec(family: AbstractTaskFamily) -> None:
    spec = family.spec
    if spec != family.spec:
        raise ConformanceError(
            "spec differs between two reads of the same family; compute it from the "
            "parameters alone."
        )
    for word, outcome in spec.outcome_labels:
        if len(outcome) != spec.outcome_size:
            raise ConformanceError(
                f"spec.outcome_labels gives {word!r} {len(outcome)} numbers; give it "
                f"outcome_size = {spec.outcome_size} of them."
            )
    try:
        spec.question.format(query=spec.query_name(0))
    except (KeyError, IndexError, ValueError) as error:
        raise ConformanceError(
            f"spec.question is {spec.question!r}; use the field {{query}} and no other."
        ) from error


def _check_parameters(family: AbstractTaskFamily) -> None:
    """Rebuilds the family from its parameters after a journey through JSON."""
    name = type(family).__name__
    try:
        hash(eqx.filter(family, eqx.is_array, inverse=True))
    except TypeError as error:
        raise ConformanceError(
            f"{name} is not hashable; make every field a static `parameter` with a "
            "hashable value, a tuple in place of a list, or an array as `data`."
        ) from error
    try:
        text = json.dumps(parameters(family), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConformanceError(
            f"parameters({name}) cannot be written as JSON ({error}); use only finite "
            "numbers, booleans, strings and tuples of these as parameters."
        ) from error
    try:
        rebuilt = type(family)(**json.loads(text), **data_of(family))
    except Exception as error:
        raise ConformanceError(
            f"{name}(**parameters) raised {compare.in_short(error)}; accept every "
            "parameter by its name, and a list where it is a tuple."
        ) from error
    if not same_family(rebuilt, family):
        raise ConformanceError(
            f"{name}(**parameters) is not equal to the family it came from; keep the "
            "parameters as given, and convert lists to tuples."
        )


def _check_shapes(family: AbstractTaskFamily) -> None:
    """Traces the methods without running them."""
    key = jr.key(0)
    query = jax.ShapeDtypeStruct((), jnp.int32)
    plain: list[Any] = []

    def sample_task() -> PyTree:
        task = family.sample_task(key=key)
        plain[:] = jax.tree.leaves(task)
        return task

    task = compare.trace("sample_task", sample_task)
    if plain and all(isinstance(leaf, bool | int | float) for leaf in plain):
        raise ConformanceError(
            f"sample_task gave one and the same task, {plain[0]}, whatever its key; "
            "draw it with the key, as jr.randint(key, (), 0, 3) does."
        )
    _check_tree("sample_task", task)
    first = compare.trace("reset", lambda task: family.reset(task, key=key), task)
    _check_result("reset", first, family.spec)
    _check_tree("reset, as its state,", first.state)
    then = compare.trace(
        "step",
        lambda state, query, task: family.step(state, query, task, key=key),
        first.state,
        query,
        task,
    )
    _check_result("step", then, family.spec)
    before, after = compare.layout(first.state), compare.layout(then.state)
    if before != after:
        raise ConformanceError(
            f"the state is {before} after reset and {after} after step; keep its "
            "structure, shapes and dtypes the same."
        )
    hypothesis = compare.trace("hypothesis", family.hypothesis, task)
    if not compare.is_integer(hypothesis):
        raise ConformanceError(
            f"hypothesis returns {compare.layout(hypothesis)}; return one integer."
        )


def _check_tree(name: str, tree: PyTree) -> None:
    for leaf in jax.tree.leaves(tree):
        if not hasattr(leaf, "dtype"):
            raise ConformanceError(
                f"{name} returns {leaf!r} among its values; return numbers, arrays and "
                "containers of these, and keep words in parameters."
            )


def _check_result(name: str, result: PyTree, spec: TaskSpec) -> None:
    if not isinstance(result, StepResult):
        raise ConformanceError(
            f"{name} returns {type(result).__name__}; return a StepResult."
        )
    for field, shape, kind, word in (
        ("outcome", (spec.outcome_size,), jnp.floating, "float"),
        ("query_mask", (spec.num_queries,), jnp.bool_, "bool"),
        ("terminated", (), jnp.bool_, "bool"),
    ):
        leaf = getattr(result, field)
        is_array = hasattr(leaf, "shape") and hasattr(leaf, "dtype")
        if not is_array or leaf.shape != shape or not jnp.issubdtype(leaf.dtype, kind):
            raise ConformanceError(
                f"{name} returns {field} as {compare.layout(leaf)}; return {word} of "
                f"shape {shape}, as the spec says{_cure(leaf, shape, word)}."
            )


def _cure(leaf: Any, shape: tuple[int, ...], word: str) -> str:
    """What makes a value right that is nearly so."""
    if getattr(leaf, "shape", None) == shape:
        return f", by .astype({word})"
    if getattr(leaf, "shape", None) == () and shape == (1,):
        return ", as jnp.asarray(x)[None] does for one number x"
    return ""


def _check_episodes(family: AbstractTaskFamily, seed: int) -> None:
    spec = family.spec
    shape = (_NUM_EPISODES, min(_NUM_STEPS, spec.horizon))
    keys = jr.split(jr.key(seed), (shape[0], shape[1] + 2))
    scores = np.random.default_rng(seed).random((*shape, spec.num_queries))
    arguments = (jnp.asarray(scores, jnp.float32), keys)

    def episode(arguments) -> Episodes:
        return play_one(family, *arguments)

    episodes: Episodes = compare.run_vmapped(episode, arguments)
    compare.check_pure("the family", episode, arguments, episodes, compare.close)
    _check_tasks(episodes, spec)
    if not (episodes.masks[:, 0].any(1) | episodes.terminated[:, 0]).any():
        raise ConformanceError(
            "reset forbids every query, so that no episode can begin; let its "
            "query_mask be True for what may be asked first."
        )
    over = episodes.terminated | ~episodes.masks.any(2)
    seen = np.cumsum(over, axis=1) - over == 0
    if not np.isfinite(episodes.outcomes[seen]).all():
        raise ConformanceError(
            "an outcome is NaN or infinite; return finite numbers, and zeros where "
            "there is nothing to see."
        )
    largest = np.abs(episodes.outcomes[seen]).max(initial=0.0)
    if largest > _LARGEST_OUTCOME:
        raise ConformanceError(
            f"an outcome is as large as {largest:.3g}, whose square is too large for "
            f"single precision; use other units, with numbers below "
            f"{_LARGEST_OUTCOME:g}."
        )
    made = seen[:, 1:]
    _check_labels(episodes.queries[made], episodes.outcomes[:, 1:][made], spec)
    if not spec.masks_queries and not episodes.masks.all():
        raise ConformanceError(
            "query_mask forbids a query although spec.masks_queries is False; set "
            "masks_queries=True in the spec."
        )
    check_facts(family, episodes)


def _check_labels(queries: np.ndarray, outcomes: np.ndarray, spec: TaskSpec) -> None:
    """Where outcomes have names, every outcome of a query must have one."""
    field = "query_outcomes" if spec.query_outcomes else "outcome_labels"
    if not getattr(spec, field):
        return
    for query, outcome in zip(queries.tolist(), outcomes, strict=True):
        named = np.array([value for _, value in spec.labels(query)], np.float32)
        if not (outcome == named).all(axis=1).any():
            raise ConformanceError(
                f"step returned the outcome {outcome.tolist()}, which spec.{field} "
                "does not name; name every outcome, or none."
            )


def _check_tasks(episodes: Episodes, spec: TaskSpec) -> None:
    truths = episodes.hypothesis
    outside = truths[(truths < 0) | (truths >= spec.num_hypotheses)]
    if outside.size:
        raise ConformanceError(
            f"hypothesis returned {outside[0]}; return a number from 0 to "
            f"{spec.num_hypotheses - 1}, as spec.num_hypotheses says."
        )
    if all((leaf == leaf[:1]).all() for leaf in jax.tree.leaves(episodes.task)):
        raise ConformanceError(
            f"sample_task gave one and the same task for {_NUM_EPISODES} keys; draw it "
            "with the key that it is given."
        )
