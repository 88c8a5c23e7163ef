"""What a session is about: explorer, request and start, decided when it is made."""

import dataclasses
import functools as ft
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Bool, Float

from icpe.artifact import Artifact
from icpe.artifact.certificate import Certificate
from icpe.artifact.guard import Guard
from icpe.artifact.player import Player
from icpe.artifact.serving import check_contender, serve
from icpe.core.checks import check_one_of, check_seed, is_whole
from icpe.core.errors import (
    InvalidOutcomeError,
    InvalidParameterError,
    UnsupportedError,
)
from icpe.core.explorer import AbstractExplorer
from icpe.core.family import AbstractTaskFamily, same_family
from icpe.core.request import OperatingPoint, Regime, Request
from icpe.core.simulate import reveals_something
from icpe.core.spec import TaskSpec
from icpe.core.units import Reading, Units, with_names, with_words
from icpe.deploy.reading import read_first_outcome, read_mask, read_units
from icpe.play.live import LiveEpisode

ALARM_ACTIONS = ("go on", "stop")


@dataclasses.dataclass(frozen=True)
class Setup:
    """Everything that a session depends on beside its answers.

    The price or budget that serves the request and the certificate behind it are
    decided once, so that a later certificate or table changes no session that has
    begun.

    Attributes:
        family: whose tasks are explored.
        player: explorer, operating point and certificate.
        request: what was asked for.
        guard: of the artifact, if it has one.
        first_outcome: what the task revealed before any query.
        query_mask: the queries allowed at first, as given; None if it was not.
        seed: of the explorer's own randomness.
        on_alarm: "go on" or "stop".
        reading: how outcomes in the user's own units are read, None in the family's.
        names: the user's names for the queries, None if those of the family.
    """

    family: AbstractTaskFamily
    player: Player
    request: Request
    guard: Guard | None
    first_outcome: Float[np.ndarray, "outcome"]
    query_mask: Bool[np.ndarray, "queries"] | None
    seed: int
    on_alarm: str
    reading: Reading | None = None
    names: tuple[str, ...] | None = None

    @staticmethod
    def of(
        explorer: Artifact | AbstractExplorer,
        family: AbstractTaskFamily | None,
        request: Request,
        *,
        first_outcome: Any = None,
        query_mask: Any = None,
        seed: int = 0,
        on_alarm: str = "go on",
        units: Any = None,
        names: Any = None,
        player: Player | None = None,
    ) -> "Setup":
        """A new session's setup; see `icpe.Session` for arguments and errors.

        Who serves the request may be given, where that is known from before.
        """
        check_contender(explorer)
        check_seed("seed", seed)
        check_one_of("on_alarm", on_alarm, ALARM_ACTIONS)
        family = family_of(explorer, family)
        player = serve(explorer, request, family) if player is None else player
        with_names(family.spec, names)
        known, name = family.any_units(), type(family).__name__
        reading = read_units(units, names, first_outcome, known, name)
        if reading is not None:
            first_outcome = reading.first_outcome
        every = np.ones(family.spec.num_queries, bool)
        mask = None if query_mask is None else read_mask(query_mask, every)
        return Setup(
            family=family,
            player=player,
            request=request,
            guard=explorer.guard if isinstance(explorer, Artifact) else None,
            first_outcome=_first_outcome(family, first_outcome),
            query_mask=mask,
            seed=int(seed),
            on_alarm=on_alarm,
            reading=reading,
            names=None if names is None else tuple(map(str, names)),
        )

    @property
    def live(self) -> LiveEpisode:
        """The explorer, ready to be told outcomes."""
        point = self.player.operating_point
        key = jr.key(self.seed)
        return LiveEpisode(self.player.explorer, point, key, self.family.spec)

    @ft.cached_property
    def words(self) -> TaskSpec:
        """The family's spec with the user's names, and questions in their units."""
        return with_words(self.family.spec, self.names, self.reading)

    @property
    def units(self) -> dict[str, Any] | None:
        """The user's units as JSON-compatible values."""
        return self.reading and dataclasses.asdict(self.reading.units)

    @property
    def has_words(self) -> bool:
        """Whether outcomes are words to people, some of them at least."""
        spec = self.family.spec
        named = spec.outcome_labels or spec.query_outcomes
        return bool(named) or self.family.answers() is not None

    def in_words(self, query: int, outcome: Float[np.ndarray, "outcome"]) -> str:
        """An outcome of a query as people say it."""
        answers = self.family.answers()
        if answers is None:
            return self.family.spec.describe_outcome(outcome, query)
        return answers.words(query, outcome)

    def shown_belief(
        self, posterior: Float[np.ndarray, "hypotheses"] | None
    ) -> Float[np.ndarray, "settings"] | None:
        """A belief without the settings that the user's problem does not have."""
        if posterior is None or self.reading is None:
            return posterior
        return posterior[: self.reading.number_of_things]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-compatible values, all but family, explorer and guard."""
        point, certificate = self.player.operating_point, self.player.certificate
        mask = self.query_mask
        return {
            "request": {
                name: int(value) if is_whole(value) else value and float(value)
                for name, value in dataclasses.asdict(self.request).items()
                if name != "promise"
            }
            | {"promise": str(self.request.promise)},
            "operating_point": {
                "regime": str(point.regime),
                "price": float(point.price) or None,  # 0 where it plays no part
                "error_prob": float(point.error_prob) or None,
                "max_queries": int(point.max_queries),
            },
            "doubt": self.player.doubt,
            "certificate": None if certificate is None else certificate.to_dict(),
            "first_outcome": self.first_outcome.tolist(),
            "query_mask": None if mask is None else mask.tolist(),
            "seed": self.seed,
            "on_alarm": self.on_alarm,
            "units": self.units,
            "number_of_things": self.reading and self.reading.number_of_things,
            "names": self.names and list(self.names),
        }

    @staticmethod
    def from_dict(values: dict[str, Any], artifact: Artifact) -> "Setup":
        """From the values of `to_dict`, with the artifact that they were made with."""
        point, certificate = values["operating_point"], values["certificate"]
        mask, names = values["query_mask"], values["names"]
        first = values["first_outcome"]
        reading = None
        if values["units"] is not None:
            number = None if names is not None else values["number_of_things"]
            units = Units(**values["units"])
            known = artifact.family.any_units()
            name = type(artifact.family).__name__
            reading = read_units(units, names, number, known, name)
        operating_point = OperatingPoint(
            price=jnp.asarray(point["price"] or 0.0, jnp.float32),
            error_prob=jnp.asarray(point["error_prob"] or 0.0, jnp.float32),
            max_queries=jnp.asarray(point["max_queries"], jnp.int32),
            regime=Regime(point["regime"]),
        )
        it = None if certificate is None else Certificate.from_dict(certificate)
        doubt = values.get("doubt")  # the first sessions do not have it
        explorer = artifact.explorer
        if doubt is not None:
            explorer = artifact.by_belief(doubt).explorer
        return Setup(
            family=artifact.family,
            player=Player(explorer, operating_point, it, doubt),
            request=Request(**values["request"]),
            guard=artifact.guard,
            first_outcome=read_first_outcome(first, artifact.family.spec),
            query_mask=None if mask is None else np.array(mask, bool),
            seed=values["seed"],
            on_alarm=values["on_alarm"],
            reading=reading,
            names=None if names is None else tuple(names),
        )


def family_of(
    explorer: Artifact | AbstractExplorer, family: AbstractTaskFamily | None
) -> AbstractTaskFamily:
    """The family that is played: the artifact's, or the one given."""
    if isinstance(explorer, Artifact):
        if family is not None and not same_family(family, explorer.family):
            raise UnsupportedError(
                "family is not the one that the artifact was trained for; leave it out."
            )
        return explorer.family
    if family is not None:
        return family
    raise InvalidParameterError(
        "family is missing, and only an artifact knows the family it serves; give that "
        "of the explorer, as in Session(explorer, family=family, error_prob=0.1)."
    )


def _first_outcome(
    family: AbstractTaskFamily, given: Any
) -> Float[np.ndarray, "outcome"]:
    spec = family.spec
    if given is None and reveals_something(family):
        if family.any_units() is not None:
            raise InvalidOutcomeError(
                "names and units are missing: this family compares settings in your "
                "own units; give a name for each setting, and units with the noise and "
                "the difference that matters."
            )
        names = ", ".join(spec.outcome_names) or f"{spec.outcome_size} numbers"
        raise InvalidOutcomeError(
            "first_outcome is missing: this family reveals something before the "
            f"first query; give {names}."
        )
    return read_first_outcome(given, spec)
