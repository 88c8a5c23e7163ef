"""A small table with numbers, words and gaps, whose classes can be told apart."""

import numpy as np
import pandas as pd


def patients(number: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of four features, of which the last says nothing; 'ill' or 'well'."""
    random = np.random.default_rng(seed)
    ill = random.random(number) < 0.5
    fever = np.where(ill, 39.0, 37.0) + 0.5 * random.normal(size=number)
    fever[random.random(number) < 0.1] = np.nan
    coughs = np.where(random.random(number) < np.where(ill, 0.8, 0.2), "yes", "no")
    table = pd.DataFrame(
        {
            "fever": fever,
            "cough": coughs,
            "marker": ill * 1.0 + random.normal(size=number),
            "shoe size": random.normal(size=number),
        }
    )
    return table, np.where(ill, "ill", "well")
