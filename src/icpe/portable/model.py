"""An exported explorer: its step, and the requests that it serves."""

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from icpe.portable.cells import Cells
from icpe.portable.episode import Spec
from icpe.portable.errors import ArtifactError, OperatingPointError
from icpe.portable.files import (
    check_seal,
    find_runtime,
    open_model,
    tuples,
    unpacked,
    unusable,
)
from icpe.portable.guard import Guard
from icpe.portable.requests import (
    LEAST_CONFIDENCE,
    Certificate,
    OperatingPoint,
    check_request,
    check_trained_price,
    out_of_reach,
)
from icpe.portable.units import AnyUnits

FORMAT = 2
"""The version of what a model says about itself."""


class Model:
    """An exported explorer, ready for any number of sessions.

    Args:
        path: the file that `icpe export` wrote.

    Raises:
        ArtifactError: it is damaged, or was not written by `icpe export`.
        MissingExtraError: onnxruntime is not installed.
    """

    def __init__(self, path: str | os.PathLike):
        runtime, path = find_runtime(), Path(path)
        try:
            content = path.read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            raise ArtifactError(f"{path} cannot be read: {reason}.") from error
        try:
            check_seal(content)
            self._run = open_model(runtime, content)
            self.document: dict[str, Any] = json.loads(
                self._run.get_modelmeta().custom_metadata_map["icpe"]
            )
            found = self.document["format"]
            if found == FORMAT:
                self._read(self.document)
        except Exception as error:  # whatever a malformed file makes go wrong
            raise ArtifactError(unusable(path, error)) from error
        if found != FORMAT:
            raise ArtifactError(
                f"{path} has format {found}, where this file reads {FORMAT}; use the "
                "icpe.portable of the icpe that exported it."
            )

    def _read(self, document: dict[str, Any]) -> None:
        def optional(name: str, kind: Any) -> Any:
            found = document[name]
            return found and kind(**{k: tuples(v) for k, v in found.items()})

        self.spec: Spec = optional("spec", Spec)
        self.units: AnyUnits | None = optional("units", AnyUnits)
        self.cells: Cells | None = optional("cells", Cells)
        self.guard: Guard | None = optional("guard", Guard)
        self.certificates = tuple(Certificate(**it) for it in document["certificates"])
        self.start = {
            f"state_{i}": unpacked(it) for i, it in enumerate(document["state"])
        }
        self._inputs = [it.name for it in self._run.get_inputs()]
        self._outputs = [it.name for it in self._run.get_outputs()]

    def step(
        self, state: dict[str, np.ndarray], told: dict[str, np.ndarray]
    ) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """What the explorer says after one more outcome, and its new state."""
        given = state | told
        found = self._run.run(None, {name: given[name] for name in self._inputs})
        reply = dict(zip(self._outputs, found, strict=True))
        return reply, {name: reply.pop(f"new_{name}") for name in self.start}

    def serve(
        self,
        error_prob: float | None = None,
        budget: int | None = None,
        price: float | None = None,
        max_queries: int | None = None,
        confidence: float = LEAST_CONFIDENCE,
        promise: str = "average",
    ) -> tuple[OperatingPoint, Certificate | None]:
        """The price or budget that serves a request, and its certificate, if any.

        Raises:
            OperatingPointError: the request lies outside the trained range, or is more
                than the operating table can serve.
        """
        horizon = self.spec.horizon
        asked = {"error_prob": error_prob, "budget": budget, "price": price}
        check_request(asked, max_queries, confidence, promise, horizon)
        cap = int(budget or max_queries or horizon)
        is_budget = cap < horizon or budget is not None
        certificate = doubt = None
        if self.document["objective"] is not None:
            self._check_objective(asked | {"max_queries": max_queries}, promise)
            price = None
        elif error_prob is not None:
            if cap == horizon:
                certificate = self._covering(error_prob, confidence, promise)
            if promise == "belief":
                price, doubt = self._doubt(error_prob, certificate)
            elif certificate is not None:
                price = certificate.price
            elif promise == "average":
                price = self._calibrated_price(error_prob, max_queries)
            else:
                raise OperatingPointError(
                    f"promise {promise} is served by a certificate alone, without a "
                    "cap on the queries; make one with icpe certify FILE --error-prob "
                    f"{error_prob:g} --promise {promise}."
                )
        elif price is not None:
            price = self._trained_price(price, max_queries)
        return OperatingPoint(float(price or 0.0), cap, is_budget, doubt), certificate

    def _check_objective(self, asked: dict[str, Any], promise: str) -> None:
        """An explorer of the paper's learner serves one request alone."""
        objective = self.document["objective"]
        if promise != "average":
            raise OperatingPointError(
                "An explorer of the paper's learner promises the average alone; "
                "leave the promise out."
            )
        given = dict(asked)
        if given["max_queries"] == self.spec.horizon:
            given["max_queries"] = None
        if given != {name: objective.get(name) for name in given}:
            trained, got = (
                ", ".join(f"{k}={v:g}" for k, v in it.items() if v is not None)
                for it in (objective, asked)
            )
            raise OperatingPointError(
                f"This explorer was trained for {trained} alone; got {got}: ask "
                "for that, or train another one."
            )

    def _covering(
        self, error_prob: float, confidence: float, promise: str
    ) -> Certificate | None:
        """They lie in the file in the order in which they are preferred, best last.

        What holds for every hypothesis holds on average.
        """
        kept = (promise, "every-hypothesis") if promise == "average" else (promise,)
        serving = [
            (it.error_prob, it.promise is None, it.confidence, order)
            for order, it in enumerate(self.certificates)
            if it.error_prob <= error_prob
            and it.confidence >= confidence
            and (it.promise or "average") in kept
        ]
        return self.certificates[max(serving)[3]] if serving else None

    def _doubt(
        self, error_prob: float, certificate: Certificate | None
    ) -> tuple[float, float]:
        """The price at which queries are chosen, and the doubt at which to stop."""
        beliefs, is_rule = self.document["beliefs"], self.document["is_rule"]
        if is_rule and certificate is not None:
            return certificate.price, certificate.price
        if beliefs is None:
            raise OperatingPointError(
                "promise belief needs the table of recalibrated beliefs, which this "
                "file does not have yet; make it with icpe calibrate FILE --promise "
                "belief."
            )
        if certificate is not None:
            doubt = certificate.price
        else:
            rows = [
                (row["mean_cost"], row["doubt"])
                for row in beliefs["rows"]
                if row["lower_bound"] + error_prob >= 1.0
            ]
            if not rows:
                raise OperatingPointError(
                    "No recalibrated belief of this explorer reaches "
                    f"{1 - error_prob:g}; ask for a larger error_prob, or for the "
                    "average."
                )
            doubt = min(rows)[1]
        return (doubt if is_rule else beliefs["price"]), doubt

    def _calibrated_price(self, error_prob: float, max_queries: int | None) -> float:
        rows = self._rows(max_queries)
        served = [row for row in rows if row["lower_bound"] + error_prob >= 1.0]
        if not served:
            best = max(row["lower_bound"] for row in rows)
            steps = math.floor((1.0 - best) * 10_000)
            while best + steps / 10_000 < 1.0:
                steps += 1
            trained = not self.document["is_rule"]
            raise OperatingPointError(
                out_of_reach(
                    error_prob,
                    steps / 10_000,
                    rows,
                    trained=trained,
                    most_queries=self.spec.num_queries if self.spec.ask_once else None,
                )
            )
        return min(served, key=lambda row: (row["mean_cost"], row["price"]))["price"]

    def _trained_price(self, price: float, max_queries: int | None) -> float:
        """The price itself; for a rule, the doubt that is worth most at that price."""
        if self.document["is_rule"]:
            rows = self._rows(max_queries)
            worth = [row["accuracy"] - price * row["mean_cost"] for row in rows]
            return rows[int(np.argmax(worth))]["price"]
        check_trained_price(price, *self.document["price_range"])
        return price

    def _rows(self, max_queries: int | None) -> list[dict[str, Any]]:
        """Of the operating table, those with a price and that cap."""
        table = self.document["operating_table"]
        if table is None:
            raise OperatingPointError(
                "error_prob needs the operating table, which this file does not "
                "have yet; make it with icpe calibrate FILE."
            )
        cap = self.spec.horizon if max_queries is None else max_queries
        rows = [row for row in table if row["max_queries"] == cap]
        if not rows:
            caps = sorted({row["max_queries"] for row in table})
            raise OperatingPointError(
                f"max_queries={max_queries} has no rows in the operating table, which "
                f"has {', '.join(map(str, caps))}; use one of these, or add it with "
                f"icpe calibrate FILE --max-queries {max_queries}."
            )
        return rows
