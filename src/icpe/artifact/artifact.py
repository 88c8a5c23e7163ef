"""The one file of an explorer: networks or a rule, family, table, certificates.

A safetensors file whose metadata hold a JSON document, under one seal. Loading never
runs code from the file: the family is rebuilt from the registry by name, or passed in
by the user, and must have the fingerprint the explorer was trained with.
"""

import dataclasses
import functools as ft
import importlib.metadata
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from icpe.artifact.belief_table import BeliefTable
from icpe.artifact.certificate import Certificate, covering, digest
from icpe.artifact.document import (
    FORMAT_VERSION,
    certified_error_probs,
    explained,
    read_artifact,
    subject_of,
)
from icpe.artifact.guard import Guard
from icpe.artifact.kinds import (
    AnyNets,
    arrays_of,
    check_weights,
    hash_of,
    kind_record,
    networks_record,
    stored_nets,
)
from icpe.artifact.operating_table import OperatingTable
from icpe.artifact.player import Player
from icpe.artifact.rebuilding import (
    check_fingerprint,
    family_document,
    rebuilt_family,
    stored_data,
)
from icpe.artifact.saved_rule import SavedRule
from icpe.artifact.trees import save_tree
from icpe.core.errors import OperatingPointError, UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily
from icpe.core.fingerprint import fingerprint
from icpe.core.request import LEAST_CONFIDENCE, OperatingPoint, Promise, Request
from icpe.explorers.neural.config import PriceRange
from icpe.explorers.neural.explorer import NeuralExplorer
from icpe.explorers.neural.networks import ExplorerNets
from icpe.explorers.neural.paper import PaperExplorer, PaperNets
from icpe.explorers.neural.sure import SureExplorer
from icpe.portable import check_trained_price


@dataclasses.dataclass(frozen=True)
class Artifact:
    """A trained explorer, or a rule, and all that is known about it.

    Attributes:
        nets: the networks, which also say what kind of explorer they make; or the rule
            that stands in their place.
        family: the family it is for, and measured on.
        training: the configuration it was trained with.
        provenance: package, jax, device, seconds and iterations of the training.
        table: accuracy and queries at measured operating points, None before
            calibration.
        certificates: every attempt to certify it, oldest first, as the values of
            `Certificate.to_dict`.
        evaluation: summary of the last evaluation that was written back.
        guard: tells sessions whose answers are not the family's; None before it is
            measured.
        against_rule: what training gains over the best rule with an exact belief, None
            if that was not measured (see `icpe.evaluate.against_rule`).
        belief_table: how far its belief can be trusted where it makes it stop, None
            before that is measured (see `icpe.evaluate.recalibrate`).
    """

    nets: AnyNets
    family: AbstractTaskFamily
    training: dict[str, Any]
    provenance: dict[str, Any]
    table: OperatingTable | None = None
    certificates: tuple[dict[str, Any], ...] = ()
    evaluation: dict[str, Any] | None = None
    guard: Guard | None = None
    against_rule: dict[str, Any] | None = None
    belief_table: BeliefTable | None = None

    @ft.cached_property
    def explorer(self) -> AbstractExplorer:
        """The explorer, ready to play."""
        if isinstance(self.nets, SavedRule):
            return self.nets.explorer
        if isinstance(self.nets, PaperNets):
            return PaperExplorer(self.nets.for_play())
        return NeuralExplorer(self.nets.for_play())

    @property
    def universal_nets(self) -> ExplorerNets:
        """The networks, where they serve every price and budget.

        Raises:
            UnsupportedError: they were made by the paper's learner for one request, or
                it is a rule, which has none.
        """
        if isinstance(self.nets, SavedRule):
            raise UnsupportedError(
                f"This explorer is the rule {self.nets.score!r}, which has no "
                "networks; train one with icpe train."
            )
        if isinstance(self.nets, PaperNets):
            raise UnsupportedError(
                "This explorer comes from the paper's learner and serves "
                f"{self.nets.objective} alone; train one with the universal learner "
                "for prices, operating tables and certificates."
            )
        return self.nets

    @property
    def prices(self) -> PriceRange:
        """The prices it can be asked for; of a rule, the doubts at which it may stop.

        Raises:
            UnsupportedError: it was made by the paper's learner for one request.
        """
        if isinstance(self.nets, SavedRule):
            return self.nets.prices
        return self.universal_nets.prices

    @property
    def weights_hash(self) -> str:
        """Hash of the networks or of the rule, by which certificates name them."""
        return hash_of(self.nets)

    @property
    def table_hash(self) -> str:
        """Hash of the operating table, by which certificates name it."""
        return digest(None if self.table is None else self.table.to_dict())

    def table_hash_for(self, promise: str) -> str:
        """Hash of the table that a ladder is planned with, for a promise."""
        if promise != Promise.BELIEF:
            return self.table_hash
        table = self.belief_table
        return digest(None if table is None else table.to_dict())

    @property
    def beliefs(self) -> BeliefTable:
        """The table of beliefs.

        Raises:
            OperatingPointError: it was not measured yet.
        """
        if self.belief_table is None:
            raise OperatingPointError(
                "promise belief needs the table of recalibrated beliefs, which this "
                "file does not have yet; make it with icpe calibrate FILE --promise "
                "belief."
            )
        return self.belief_table

    @property
    def subject_hash(self) -> str:
        """Hash of what certificates are about; see `subject_of`."""
        return subject_of(self._described())

    def with_certificate(self, certificate: Certificate) -> "Artifact":
        """The artifact with one more attempt to certify it, unless it has that one."""
        if certificate.digest in {it.get("digest", "") for it in self.certificates}:
            return self
        records = (*self.certificates, certificate.to_dict())
        return dataclasses.replace(self, certificates=records)

    def serve(self, request: Request | None = None, **asked: Any) -> Player:
        """The price or budget that serves a request, and whether it is certified.

        The request is given, or its fields are, as in `serve(error_prob=0.1)`.

        An error probability is served at the price of the certificate that covers it
        with at least the confidence asked for; without one, or with a cap on the
        queries, by the operating table. An explorer of the paper's learner serves the
        request it was trained for, and no other.

        Raises:
            OperatingPointError: the request lies outside the trained range, or is more
                than the operating table can serve.
        """
        request = Request(**asked) if request is None else request
        horizon = self.family.spec.horizon
        point = request.at(horizon)
        if isinstance(self.nets, PaperNets):
            if request.promise is not Promise.AVERAGE:
                raise OperatingPointError(
                    "An explorer of the paper's learner promises the average alone; "
                    "leave the promise out."
                )
            self.nets.objective.check_serves(request, horizon)
            return Player(self.explorer, point)
        if request.error_prob is not None:
            return self._serve_error_prob(request)
        if isinstance(self.nets, SavedRule):
            return Player(self.explorer, self._weighed(request))
        prices = self.nets.prices
        if request.price is not None:
            check_trained_price(request.price, prices.low, prices.high)
        return Player(self.explorer, point)

    def operating_point(self, **asked: Any) -> OperatingPoint:
        """The price or budget that serves a `Request` with these fields."""
        return self.serve(**asked).operating_point

    def point_at(self, price: float, max_queries: int | None = None) -> OperatingPoint:
        """The operating point of a row of its table, or of a rung of a ladder.

        For networks it is that of a request for the price; for a rule the price is
        the doubt at which it stops.
        """
        if isinstance(self.nets, SavedRule):
            return OperatingPoint.at(
                self.family.spec.horizon, price=price, max_queries=max_queries
            )
        return self.operating_point(price=price, max_queries=max_queries)

    def by_belief(self, doubt: float, max_queries: int | None = None) -> Player:
        """Plays until the doubt in the answer has fallen so far.

        Networks choose their queries at the price of the table of beliefs.

        Raises:
            OperatingPointError: that was not measured yet.
        """
        horizon = self.family.spec.horizon
        if isinstance(self.nets, SavedRule):
            point = self.point_at(doubt, max_queries)
            return Player(self.explorer, point, doubt=doubt)
        explorer = SureExplorer(NeuralExplorer(self.universal_nets.for_play()))
        price = self.beliefs.price
        point = OperatingPoint.at(horizon, price=price, max_queries=max_queries)
        least = jnp.asarray(doubt, point.error_prob.dtype)
        point = dataclasses.replace(point, error_prob=least)
        return Player(explorer, point, doubt=doubt)

    def _weighed(self, request: Request) -> OperatingPoint:
        """The doubt at which a rule is worth most at a price, by its table."""
        if request.price is None:
            return request.at(self.family.spec.horizon)
        row = self._measured().row_worth_most(request.price, request.max_queries)
        assert row.price is not None
        return self.point_at(row.price, request.max_queries)

    def _measured(self) -> OperatingTable:
        if self.table is None:
            raise OperatingPointError(
                "error_prob needs the operating table, which this file does not "
                "have yet; make it with icpe calibrate FILE."
            )
        return self.table

    def _serve_error_prob(self, request: Request) -> Player:
        assert request.error_prob is not None
        horizon = self.family.spec.horizon
        promise = str(request.promise)
        certificate = None
        if not request.has_cap(horizon):
            certificate = self.certificate_for(
                request.error_prob, request.confidence, promise
            )
        if promise == Promise.BELIEF:
            return self._serve_belief(request, certificate)
        if certificate is None and promise != Promise.AVERAGE:
            raise OperatingPointError(
                f"promise {promise} is served by a certificate alone, without a cap "
                "on the queries; make one with icpe certify FILE --error-prob "
                f"{request.error_prob:g} --promise {promise}."
            )
        if certificate is None:
            price = self._calibrated_price(request.error_prob, request.max_queries)
        else:
            price = certificate.price
        point = OperatingPoint.at(horizon, price=price, max_queries=request.max_queries)
        return Player(self.explorer, point, certificate)

    def _serve_belief(
        self, request: Request, certificate: Certificate | None
    ) -> Player:
        if certificate is not None:
            doubt = certificate.price
        else:
            doubt = self.beliefs.row_for(request.error_prob or 0.0).doubt
        assert doubt is not None
        player = self.by_belief(doubt, request.max_queries)
        return dataclasses.replace(player, certificate=certificate)

    @property
    def certified_error_probs(self) -> list[float]:
        """Those of certificates that serve such a request, smallest first."""
        return certified_error_probs(self.document())

    def certificate_for(
        self,
        error_prob: float,
        confidence: float = LEAST_CONFIDENCE,
        promise: str = Promise.AVERAGE,
    ) -> Certificate | None:
        """The certificate that covers an error probability, None if none does."""
        if not self.certificates:
            return None
        return covering(
            self.certificates,
            error_prob,
            weights=self.weights_hash,
            table=self.table_hash_for(promise),
            document=lambda: self.subject_hash,
            confidence=confidence,
            promise=promise,
        )

    def _calibrated_price(self, error_prob: float, max_queries: int | None) -> float:
        trained = not isinstance(self.nets, SavedRule)
        table = self._measured()
        spec = self.family.spec
        most_queries = spec.num_queries if spec.ask_once else None
        price = table.row_for(
            error_prob, max_queries, trained=trained, most_queries=most_queries
        ).price
        assert price is not None
        return price

    def save(self, path: str | Path) -> None:
        """Writes the file to a temporary name and renames it."""
        stored = stored_data(self.family) or {}
        data = {f"family.{name}": array for name, array in stored.items()}
        if self.guard is not None:
            law = self.guard.law.arrays()
            data |= {f"guard.{name}": array for name, array in law.items()}
        save_tree(Path(path), arrays_of(self.nets), self.document(), data)

    def document(self) -> dict[str, Any]:
        """Everything but the arrays, as JSON-compatible values."""
        return {
            "format_version": FORMAT_VERSION,
            **self._described(),
            "training": self.training,
            "provenance": self.provenance,
            "operating_table": None if self.table is None else self.table.to_dict(),
            "certificates": list(self.certificates),
            "evaluation": self.evaluation,
            "guard": None if self.guard is None else self.guard.to_dict(),
            "against_rule": self.against_rule,
            "belief_table": None
            if self.belief_table is None
            else self.belief_table.to_dict(),
        }

    def _described(self) -> dict[str, Any]:
        """What the document says of explorer and family."""
        return {
            "family": family_document(self.family),
            "fingerprint": fingerprint(self.family),
            "weights": self.weights_hash,
            "networks": networks_record(self.nets),
            **kind_record(self.nets),
        }

    @staticmethod
    def load(path: str | Path, family: AbstractTaskFamily | None = None) -> "Artifact":
        """Reads a file.

        Args:
            path: the file.
            family: the family, where it is the user's own; else it is looked up.

        Raises:
            ArtifactError: the file is damaged, foreign, newer than this version, or
                was trained for another family.
        """
        path = Path(path)
        with explained(path):
            stored = read_artifact(path)
            document = stored.document
            if family is None:
                family = rebuilt_family(stored, path)
                nets = stored_nets(stored, family)
                check_fingerprint(document, family, path)
            else:
                check_fingerprint(document, family, path)
                nets = stored_nets(stored, family)
            check_weights(document, nets)
            table = document["operating_table"]
            _check_horizon(table, family)
            guard = document.get("guard")  # the first files do not have it
            beliefs = document.get("belief_table")
            return Artifact(
                nets=nets,
                family=family,
                training=document["training"],
                provenance=document["provenance"],
                table=None if table is None else OperatingTable.from_dict(table),
                certificates=tuple(document["certificates"]),
                evaluation=document["evaluation"],
                guard=guard and Guard.of(guard, stored.data("guard."), family.spec),
                against_rule=document.get("against_rule"),
                belief_table=beliefs and BeliefTable.from_dict(beliefs),
            )


def provenance(**facts: Any) -> dict[str, Any]:
    """Versions and device of this process, with further facts."""
    try:
        version = importlib.metadata.version("icpe")
    except importlib.metadata.PackageNotFoundError:
        version = "source tree"
    return {
        "icpe": version,
        "jax": jax.__version__,
        "device": jax.devices()[0].device_kind,
        **facts,
    }


def _check_horizon(table: dict[str, Any] | None, family: AbstractTaskFamily) -> None:
    horizon = family.spec.horizon
    if table is not None and table["horizon"] != horizon:
        raise ValueError(
            f"operating_table.horizon is {table['horizon']}, that of its family "
            f"{horizon}"
        )
