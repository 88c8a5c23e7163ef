"""How many pulls a deterministic magic chain needs: the paper's and the exact number.

For 10 arms and 1 to 9 magic arms the paper's expression is 1, 2, 3, 3.476, 3.480,
3.643, 3.887, 4.139, 4.111. It lets a magic arm reveal its place in the chain, which the
code i/K does not, so from 4 magic arms on it lies below what is attainable. The exact
optimum without errors is 1, 2, 3, 3.971, 4.071, 4.292, 4.564, 4.792, 4.889. With errors
allowed the limit is in `magic_chain_frontier`.
"""

import functools as ft
import math

from icpe.core.errors import InvalidParameterError
from icpe.theory.magic_chain_knowledge import ChainSize, Knowledge


def magic_chain_bound(num_arms: int, num_magic: int) -> float:
    """The paper's expression (theorem "multiple magic actions", appendix).

    min(n, sum_{j=1}^{K-n} prod_{i=j+1}^{K-n} i/(n-1+i) * (1 + (n-1)/(n-1+j) *
    min((n-2)/2, j (n-1+j) / (j+1)))). Stated as an upper bound on the optimum under
    the assumption above; without that assumption it is no bound for n >= 4.
    """
    chain = checked_chain(num_arms, num_magic)
    hidden = num_magic - 1
    total = 0.0
    for j in range(1, chain.num_regular + 1):
        later = range(j + 1, chain.num_regular + 1)
        reach = math.prod(i / (hidden + i) for i in later)
        follow = min((num_magic - 2) / 2, j * (hidden + j) / (j + 1))
        total += reach * (1 + hidden / (hidden + j) * follow)
    return min(float(num_magic), total)


def magic_chain_zero_error(num_arms: int, num_magic: int) -> float:
    """The smallest expected number of pulls after which the best arm is certain.

    Exact dynamic program over what is known. The values of regular arms are ignored
    until all of them are seen, as no smaller number of them makes the best certain.
    """
    chain = checked_chain(num_arms, num_magic)

    @ft.cache
    def remaining(known: Knowledge) -> float:
        """Expected further pulls times the number of configurations."""
        count = chain.candidates(known)
        total = count.unseen + known.seen * count.seen
        certain = max(count.likeliest_unseen, count.seen) == total
        if certain or known.seen == chain.num_regular:
            return 0.0
        return total + min(
            sum(many * remaining(after) for many, after in pull.magic)
            + (remaining(pull.regular) if pull.regular else 0.0)
            for pull in chain.pulls(known)
        )

    return remaining(Knowledge()) / chain.candidates(Knowledge()).unseen


def checked_chain(num_arms: int, num_magic: int) -> ChainSize:
    """The chain of that size, if there is one.

    Raises:
        InvalidParameterError: not at least one magic and one regular arm.
    """
    if not 1 <= num_magic < num_arms:
        raise InvalidParameterError(
            f"num_magic must be at least 1 and smaller than num_arms {num_arms}; "
            f"got {num_magic}."
        )
    return ChainSize(num_arms, num_magic)
