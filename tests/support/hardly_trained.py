"""Training that takes seconds, for tests of pages and commands."""

import dataclasses

import jax

from icpe import workflow
from icpe.learn import recipe
from icpe.studies.tiny import TINY


def hardly_train(monkeypatch) -> None:
    """Trains hardly at all from now on, and takes for granted that it was enough."""
    calibrate, settle = workflow.calibrate, workflow.settle

    def believe(artifact, *, episodes, **options):
        table = calibrate(artifact, episodes=8, **options)
        rows = [dataclasses.replace(row, lower_bound=0.99) for row in table.rows]
        return dataclasses.replace(table, rows=tuple(rows))

    def settle_on_few(nets, family, episodes, **options):
        return settle(nets, family, 8, **options)

    monkeypatch.setattr(recipe, "_CPU", TINY)
    monkeypatch.setattr(recipe, "_FEWER", {"cpu": TINY.num_iterations})
    monkeypatch.setattr(workflow, "calibrate", believe)
    monkeypatch.setattr(workflow, "settle", settle_on_few)


def promoting():
    """As users have it: numbers of different types may be combined."""
    return jax.numpy_dtype_promotion("standard")
