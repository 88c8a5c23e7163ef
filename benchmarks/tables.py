"""Measures the classifier that asks, and writes docs/data/tables.json.

Five folds of each table, drawn anew for each seed of `SEEDS`. The rows of a fold are
seen by nobody who is measured on them.
Everything about ours is chosen on the other rows: it is fitted with its defaults. The
others get the threshold at which they come closest to as many queries as ours, chosen
in hindsight on the fold's own rows, which favors them. The folds of seed 0 were looked
at while the defaults were chosen; these were not.

    python benchmarks/tables.py [docs] [--only breast-cancer]
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

from icpe.families.table import CaseTable
from icpe.integrations.tables.left_out import Plays, _start, _step, play
from icpe.integrations.tables.reading import columns_of
from icpe.sklearn import ActiveClassifier

TABLES = {"breast-cancer": load_breast_cancer, "digits": load_digits}
SEEDS = (1, 2)
_DOUBTS = np.geomspace(1e-4, 0.5, 80)


def measure(name: str) -> dict:
    """All methods on one table, over five folds of each seed."""
    X, y = TABLES[name](return_X_y=True)
    found: dict[str, list] = {}
    seconds = []
    folds = (
        fold
        for seed in SEEDS
        for fold in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y)
    )
    for train, test in folds:
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ours = ActiveClassifier().fit(X[train], y[train])
        seconds.append(time.perf_counter() - began)
        right = ours.predict(X[test]) == y[test]
        mean = float(ours.n_queries_.mean())
        _add(found, "ours", right, ours.n_queries_)
        fitted = ours._fitted
        family, cells = fitted.family, fitted.cells(columns_of(X[test]))
        labels = np.searchsorted(ours.classes_, y[test])
        fixed = play_in_order(family, fixed_order(family), cells)
        _add(found, "fixed order", *_at(fixed, labels, mean))
        naive = play(naive_bayes(family), cells)
        _add(found, "greedy, independent features", *_at(naive, labels, mean))
        whole = family.spec.num_queries
        forest = RandomForestClassifier(300, random_state=0).fit(X[train], y[train])
        right = forest.predict(X[test]) == y[test]
        _add(found, "forest, all features", right, np.full(len(test), X.shape[1]))
        best = np.argsort(-forest.feature_importances_)[: max(1, round(mean))]
        few = RandomForestClassifier(300, random_state=0)
        right = few.fit(X[train][:, best], y[train]).predict(X[test][:, best])
        _add(found, "forest, as many", right == y[test], np.full(len(test), len(best)))
        print(
            name,
            whole,
            {
                k: np.mean(np.concatenate([r for r, _ in v])).round(4)
                for k, v in found.items()
            },
            flush=True,
        )
    return {
        "rows": len(y),
        "features": X.shape[1],
        "classes": len(np.unique(y)),
        "seeds": SEEDS,
        "fit_seconds": float(np.mean(seconds)),
        "methods": {
            method: {
                "accuracy": float(np.mean(np.concatenate([r for r, _ in parts]))),
                "queries": float(np.mean(np.concatenate([n for _, n in parts]))),
                "by_fold": [float(np.mean(r)) for r, _ in parts],
            }
            for method, parts in found.items()
        },
    }


def _add(found: dict, method: str, right, queries) -> None:
    found.setdefault(method, []).append((np.asarray(right), np.asarray(queries)))


def _at(plays: Plays, labels, mean: float):
    """Right answers and queries at the threshold that comes closest to a mean."""
    cap = plays.queries.shape[1]
    stops = min(
        (plays.stops(float(doubt), cap) for doubt in _DOUBTS),
        key=lambda stop: abs(stop.mean() - mean),
    )
    said = plays.log_posterior[np.arange(len(stops)), stops].argmax(axis=1)
    return said == labels, stops


def fixed_order(family: CaseTable) -> list[int]:
    """Queries in the order in which they tell most on average over the rows.

    Each is chosen given all before it, as one would compose a questionnaire that is the
    same for everybody.
    """
    flat = np.flatnonzero(np.asarray(family.log_weight).reshape(-1) > -1e8)
    rows = np.random.default_rng(0).permutation(flat)[:256]
    cells = np.asarray(family.cells).reshape(-1, len(family.features))[rows]
    belief = family.exact_belief()
    state = _start(family, rows.astype(np.int32))
    gains = jax.jit(jax.vmap(belief.information_gains))
    order: list[int] = []
    for _ in range(family.spec.horizon):
        told = np.array(gains(state)).mean(axis=0)
        told[order] = -1.0
        order.append(int(told.argmax()))
        state = _told(family, state, cells, order[-1])[0]
    return order


def _told(family, state, cells, query):
    only = np.zeros((len(cells), family.spec.num_queries), bool)
    only[:, query] = True
    state, _, _, after = _step(family, state, jnp.asarray(only), cells.astype(np.int32))
    return state, after


def play_in_order(family: CaseTable, order: list[int], cells) -> Plays:
    """The same posterior and the same stop, with queries in a fixed order."""
    state = _start(family, np.full(len(cells), -1, np.int32))
    belief = jax.vmap(family.exact_belief().log_posterior)
    beliefs = [np.asarray(belief(state))]
    for query in order:
        state, after = _told(family, state, cells, query)
        beliefs.append(np.asarray(after))
    return Plays(np.stack(beliefs, 1), np.tile(order, (len(cells), 1)))


def naive_bayes(family: CaseTable) -> CaseTable:
    """The same cells, independent given the class: one row a class, its own kernel."""
    cells, weight = np.asarray(family.cells), np.exp(np.asarray(family.log_weight))
    num_classes, _, num_features = cells.shape
    size = max(family.kernel.shape[1], num_classes + 1)
    kernel = np.zeros((num_features, size, size))
    for label in range(num_classes):
        for feature in range(num_features):
            counts = np.bincount(
                cells[label, :, feature], weights=weight[label], minlength=size
            )
            counts = counts / counts.sum() * np.sum(weight[label] > 0)
            smooth = counts + 0.5 * (
                np.asarray(family.values).shape[1] > np.arange(size)
            )
            kernel[feature, label + 1] = smooth / smooth.sum()
    own = np.arange(1, num_classes + 1)[:, None, None] * np.ones((1, 1, num_features))
    return CaseTable(
        features=family.features,
        classes=family.classes,
        groups=family.groups,
        query_names=family.query_names,
        levels=family.levels,
        costs=family.costs,
        horizon=family.horizon,
        cells=own,
        log_weight=np.log(weight.sum(axis=1, keepdims=True)),
        kernel=kernel,
        codes=own,
        code_kernel=kernel,
        edges=family.edges,
        values=family.values,
        held_out=np.zeros((0, num_features)),
        held_out_labels=np.zeros(0),
    )


def main() -> None:
    """Measures what is asked for, and keeps the rest of the record."""
    parser = argparse.ArgumentParser()
    parser.add_argument("docs", nargs="?", type=Path, default=Path("docs"))
    parser.add_argument("--only", choices=TABLES)
    given = parser.parse_args()
    path = given.docs / "data" / "tables.json"
    record = json.loads(path.read_text()) if path.exists() else {}
    for name in [given.only] if given.only else TABLES:
        record[name] = measure(name)
        path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
