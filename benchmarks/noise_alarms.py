"""When sessions in units of one's own notice another noise, for whole batches."""

import numpy as np
from jaxtyping import Float

from icpe.core.units import AnyUnits
from icpe.evaluate.answers import Played
from icpe.portable.noise import is_strange


def first_noise_alarm(known: AnyUnits, played: Played) -> Float[np.ndarray, "episodes"]:
    """The answer with which repeats look strange; infinite where they never do.

    As `icpe.portable.noise.scatter` adds up all repeats of a session, this does answer
    by answer.
    """
    told = played.revealed[:, 2].astype(float)
    least = np.where(told > 0, told, known.least_noise)
    most = np.where(told > 0, told, known.most_noise)
    each = np.arange(len(told))
    count = np.zeros((len(told), known.most))
    mean, degrees, squares = count.copy(), np.zeros(len(told)), np.zeros(len(told))
    first = np.full(len(told), np.inf)
    for step in range(played.queries.shape[1]):
        made = step < played.length
        query = np.where(made, played.queries[:, step], 0)
        before, away = count[each, query], played.outcomes[:, step, 0]
        away = away - mean[each, query]
        again = made & (before > 0)
        squares += np.where(again, away**2 * before / (before + 1.0), 0.0)
        degrees += again
        mean[each, query] += np.where(made, away / (before + 1.0), 0.0)
        count[each, query] += made
        strange = again & is_strange(degrees, squares, least, most)
        first = np.where(strange & ~np.isfinite(first), step + 1.0, first)
    return first
