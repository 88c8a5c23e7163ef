"""The bandit whose arm 0, the magic arm, encodes which arm is best.

Arm 0 has mean code[best], where `code` takes a different value for every other arm;
its noise may differ from theirs. Whoever wants to be wrong with probability at most
delta on every such bandit makes on average at least T* kl(1-delta, delta) queries
(the paper, theorem "magic action", appendix "Sample complexity lower bound for the
magic action MAB problem"), with

    1 / T* = max over w of min over a not in {0, *} of
        w_0 (code_* - code_a)^2 / (2 magic_noise^2) +
        sum over b in K_a(w) of w_b (mu_b - m_a(w))^2 / (2 noise^2).

K_a(w) are the confusing arms: those whose mean changes in the nearest bandit where a
is best, and m_a(w) is the mean they then share. Averaged over tasks this bound can
lie above what a method needs that knows the prior, so it is no limit for those.

Arms are numbered from 0 here and from 1 in the paper; `code` has one entry per arm,
of which entry 0 is not used. As in the paper the best mean exceeds every code.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Flag, Index, Scalar
from icpe.core.errors import InvalidParameterError
from icpe.theory.characteristic_time import CharacteristicTime, Means, Weights
from icpe.theory.max_min import maximize_minimum

Code = Float[Array, "arms"]


@jax.jit
def magic_action_time(
    means: Means, code: Code, magic_noise: Scalar | float, noise: Scalar | float
) -> CharacteristicTime:
    """T* and w* of the theorem. An arm without noise reveals at once: the time is 0.

    `means[0]` is not used: it is the code of the best arm.
    """
    num_arms = _check_num_arms(means)
    clear_magic, clear_rest = jnp.asarray(magic_noise) == 0, jnp.asarray(noise) == 0
    at_once = clear_magic | clear_rest
    solution = maximize_minimum(
        lambda weights: magic_action_information(
            weights,
            means,
            code,
            jnp.where(at_once, 1.0, magic_noise),
            jnp.where(at_once, 1.0, noise),
        ),
        start=jnp.full(num_arms, 1.0 / num_arms, means.dtype),
        active=_is_rival(means),
    )
    is_magic = jnp.arange(num_arms) == 0
    revealing = jnp.where(clear_magic, is_magic, ~is_magic).astype(means.dtype)
    return CharacteristicTime(
        time=jnp.where(at_once, 0.0, 1.0 / solution.value),
        proportions=jnp.where(at_once, revealing / revealing.sum(), solution.point),
    )


def magic_action_information(
    weights: Weights,
    means: Means,
    code: Code,
    magic_noise: Scalar | float,
    noise: Scalar | float,
) -> Float[Array, "arms"]:
    """The theorem's expression for each rival a; infinite for the magic and best arm.

    The nearest bandit in which a is best lifts a to a level and pulls the better arms
    down to it. The level is the largest mean of {a} and the j best arms over j (the
    theorem's m at the confusing set), but not below the codes.
    """
    best = _best(means)
    order = 1 + jnp.argsort(-means[1:])
    floor = jnp.max(code[1:])

    def regular_part(a):
        included = jnp.where(order == a, 0.0, weights[order])
        mass = jnp.cumsum(included) + weights[a]
        total = jnp.cumsum(included * means[order]) + weights[a] * means[a]
        level = jnp.max(
            jnp.where(mass > 0, total / jnp.where(mass > 0, mass, 1.0), 0.0)
        )
        level = jnp.maximum(level, floor)
        lowered = included * jnp.maximum(means[order] - level, 0.0) ** 2
        return weights[a] * (level - means[a]) ** 2 + jnp.sum(lowered)

    regular = jax.vmap(regular_part)(jnp.arange(means.shape[0]))
    magic = weights[0] * ((code[best] - code) / magic_noise) ** 2
    values = 0.5 * (magic + regular / jnp.asarray(noise) ** 2)
    return jnp.where(_is_rival(means), values, jnp.inf)


def magic_action_upper_bound(
    best: Index, code: Code, magic_noise: Scalar | float
) -> Scalar:
    """T* <= 2 magic_noise^2 / min over rivals a of (code_best - code_a)^2.

    The corollary of the theorem: pulling the magic arm alone is one allocation. For
    the code 1/i (i = 1..K) and best arm i < K this is 2 s^2 (i (i+1))^2, as printed.
    """
    index = jnp.arange(code.shape[0])
    rival = (index != 0) & (index != best)
    nearest = jnp.min(jnp.where(rival, (code[best] - code) ** 2, jnp.inf))
    return 2.0 * jnp.asarray(magic_noise) ** 2 / nearest


def magic_arm_alone_is_optimal(
    means: Float[Array, "3"],
    code: Float[Array, "3"],
    magic_noise: Scalar | float,
    noise: Scalar | float,
) -> Flag:
    """Whether w* puts all weight on the magic arm, for three arms.

    The paper's lemma for K = 3: exactly if
    |code_* - code_a| > magic_noise (mu_* - mu_a) / (2 noise); if the reverse strict
    inequality holds, the magic arm gets no weight at all.
    """
    distance = jnp.abs(code[1] - code[2])
    return distance > magic_noise * jnp.abs(means[1] - means[2]) / (2.0 * noise)


def _best(means: Means) -> Index:
    return 1 + jnp.argmax(means[1:])


def _is_rival(means: Means) -> Bool[Array, "arms"]:
    index = jnp.arange(means.shape[0])
    return (index != 0) & (index != _best(means))


def _check_num_arms(means: Means) -> int:
    num_arms = means.shape[0]
    if num_arms < 3:
        raise InvalidParameterError(
            f"means must have at least 3 entries, the magic arm and two others; got "
            f"{num_arms}."
        )
    return num_arms
