"""What is the best that any explorer could do on a family, where it is known."""

import jax.random as jr

from icpe.core.errors import OperatingPointError
from icpe.core.family import AbstractTaskFamily, Limits


def limits(
    family: AbstractTaskFamily, error_prob: float | None = None, *, seed: int = 0
) -> Limits:
    """The exact optimum of a family and its named bounds (`docs/bounds.md`).

    `mean_queries` and `max_queries` are the fewest queries of an explorer that never
    errs, where they are known exactly, else None. Further keys are bounds whose names
    say what they hold for; those that begin with `correct_on_every_task` or
    `characteristic_time` do not hold for explorers that know the prior.

    Args:
        family: the family.
        error_prob: the error probability allowed, for the bounds that depend on it;
            they are left out without it.
        seed: for bounds that are averaged over tasks.

    Raises:
        OperatingPointError: error_prob does not lie strictly between 0 and 1.
    """
    if error_prob is not None and not 0.0 < error_prob < 1.0:
        raise OperatingPointError(
            f"error_prob must lie strictly between 0 and 1; got {error_prob}."
        )
    known = family.known_limits(error_prob, key=jr.key(seed))
    return {"mean_queries": None, "max_queries": None, **known}


def is_every_task(name: str) -> bool:
    """Whether a bound holds only for methods that are correct on every task."""
    return name.startswith(("correct_on_every_task", "characteristic_time"))
