"""Computerized adaptive classification: how that field tests a person.

Items are chosen by their Fisher information, at the present estimate of the ability or
at the cut that is nearest to it, and tests end by Wald's sequential probability ratio
test at every cut (Spray and Reckase 1996; Eggen 1999), perhaps curtailed where what is
left of the test will hardly change the outcome (Finkelman 2008).
"""

from typing import Annotated

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.checks import check_between, check_one_of, check_positive
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec
from icpe.core.stopping import stop_if, stop_threshold
from icpe.explorers.classical.arms_explorer import Scale, check_scale
from icpe.explorers.rules.belief_explorer import (
    AbstractScore,
    BeliefExplorer,
    PosteriorStopping,
    Situation,
)
from icpe.explorers.rules.exact import Threshold
from icpe.families.finite import FiniteModelBelief
from icpe.families.item_test import AbstractItemTest
from icpe.theory.item_response import answer_probabilities, fisher_information

_PLACES = ("ability", "cut")
At = Annotated[str, "where information is largest: ability (its estimate), or cut"]
Indifference = Annotated[float, "half the width of the region around a cut"]
Gamma = Annotated[float, "probability that the outcome stays, at which it ends"]


class InformationAtAbility(AbstractScore):
    """Fisher information of each item at the estimated ability, or the nearest cut.

    Items are weighed by their cost. The estimate is the posterior mean.
    """

    nodes: Float[Array, "nodes"]
    information: Float[Array, "nodes items"]
    at_cuts: Float[Array, "cuts items"] | None
    cuts: Float[Array, "cuts"]
    costs: Float[Array, "items"]

    def __call__(self, now: Situation, *, key: PRNGKey) -> Float[Array, "items"]:
        return self.of(now.statistics)

    def of(self, log_weights: Float[Array, "nodes"]) -> Float[Array, "items"]:
        """The score under weights of the nodes."""
        ability = self.estimate(log_weights)
        if self.at_cuts is not None:
            nearest = jnp.argmin(jnp.abs(self.cuts - ability))
            return self.at_cuts[nearest] / self.costs
        nearest = jnp.argmin(jnp.abs(self.nodes - ability))
        return self.information[nearest] / self.costs

    def estimate(self, log_weights: Float[Array, "nodes"]) -> Scalar:
        """The posterior mean of the ability."""
        weights = jnp.exp(log_weights - jnp.max(log_weights))
        return jnp.sum(weights * self.nodes) / jnp.sum(weights)


class FixedOrder(AbstractScore):
    """Items in one order for everybody."""

    worth: Float[Array, "items"]

    def __call__(self, now: Situation, *, key: PRNGKey) -> Float[Array, "items"]:
        return self.worth


class SprtState(eqx.Module):
    """Weights of the abilities, and the items put; `level` None: never stops."""

    log_weights: Float[Array, "nodes"]
    made: Scalar
    level: Scalar | None


class SprtExplorer(AbstractExplorer):
    """Ends when the likelihood ratio at every cut says above or below.

    With `curtails`, also when what is left of the test will probably not change what
    the ratios say.
    """

    name: str = eqx.field(static=True)
    belief: FiniteModelBelief
    score: InformationAtAbility
    above: Float[Array, "cuts items answers"]
    below: Float[Array, "cuts items answers"]
    gamma: float = eqx.field(static=True)
    scale: Scalar | float
    curtails: bool = eqx.field(static=True)
    spec: TaskSpec = eqx.field(static=True)

    @property
    def made_for(self) -> TaskSpec:
        return self.spec

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> tuple[SprtState, Float[Array, "cuts"]]:
        stops = stop_threshold(self.name, spec, operating_point) is not None
        level = operating_point.error_prob if stops else None
        state = SprtState(self.belief.init(first_outcome), jnp.zeros(()), level)
        return state, jnp.zeros(self.above.shape[0])

    def ask(self, state, query_mask: Bool[Array, "queries"], *, key: PRNGKey) -> Index:
        now, ratios = state
        scores = self.score.of(now.log_weights)
        query = jnp.argmax(jnp.where(query_mask, scores, -jnp.inf))
        stop = ~jnp.any(query_mask)
        if now.level is not None:
            bound = jnp.log((1.0 - now.level) / now.level) * jnp.asarray(
                self.scale, now.level.dtype
            )
            decided = jnp.abs(ratios) >= bound
            if self.curtails:
                decided = decided | self._settled(now, ratios, query_mask)
            stop = stop | jnp.all(decided)
        return stop_if(stop, query)

    def tell(self, state, query: Index, outcome: Float[Array, "outcome"]):
        now, ratios = state
        answer = jnp.round(outcome[0]).astype(jnp.int32)
        told = self.above[:, query, answer] - self.below[:, query, answer]
        weights = self.belief.update(now.log_weights, query, outcome)
        return SprtState(weights, now.made + 1.0, now.level), ratios + told

    def recommend(self, state) -> Index:
        """The band that the ratios point to."""
        return jnp.sum(state[1] > 0, dtype=jnp.int32)

    def log_posterior(self, state) -> Float[Array, "hypotheses"]:
        return self.belief.log_posterior(state[0].log_weights)

    def _settled(
        self, now: SprtState, ratios: Float[Array, "cuts"], allowed
    ) -> Bool[Array, "cuts"]:
        """Whether the sign of each ratio at the end of the test is as good as sure.

        The rest of the test is taken to be the items of largest information. Given
        the ability, what their answers add is about normal; the ability itself is as
        uncertain as the posterior says, so probabilities are averaged over it.
        """
        steps = self.above - self.below
        chances = jnp.exp(self.belief.model.log_likelihood)
        mean = jnp.einsum("nia,cia->nci", chances, steps)
        spread = jnp.einsum("nia,cia->nci", chances, jnp.square(steps))
        spread = spread - jnp.square(mean)
        left = jnp.maximum(self.spec.horizon - now.made, 0.0)
        worth = jnp.where(allowed, self.score.of(now.log_weights), -jnp.inf)
        rank = jnp.argsort(jnp.argsort(-worth)).astype(left.dtype)
        used = ((rank < left) & allowed).astype(mean.dtype)
        drift, noise = mean @ used, jnp.maximum(spread @ used, 1e-9)
        toward = jnp.sign(ratios)[None] * (ratios[None] + drift) / jnp.sqrt(noise)
        weights = jax.nn.softmax(now.log_weights)
        return (weights @ ndtr(toward) >= self.gamma) & (ratios != 0)


def make_maximum_information(
    family: AbstractItemTest, *, at: At = "ability", threshold: Threshold = None
) -> BeliefExplorer:
    """The item of largest information; stops by the exact posterior."""
    check_one_of("at", at, _PLACES)
    belief, score = family.exact_belief(), _score(family, at)
    return BeliefExplorer(
        "maximum-information", belief, score, PosteriorStopping(threshold), family.spec
    )


def make_fixed_form(
    family: AbstractItemTest, *, threshold: Threshold = None
) -> BeliefExplorer:
    """The items of largest information at the cuts, for everybody alike."""
    worth = fisher_information(family.items(), family.cut_scores()).min(axis=0)
    worth = worth / np.asarray(family.spec.costs or 1.0)
    score = FixedOrder(jnp.asarray(worth, jnp.float32))
    return BeliefExplorer(
        "fixed-form",
        family.exact_belief(),
        score,
        PosteriorStopping(threshold),
        family.spec,
    )


def make_sprt(
    family: AbstractItemTest,
    *,
    at: At = "cut",
    indifference: Indifference = 0.25,
    scale: Scale = 1.0,
) -> SprtExplorer:
    """Wald's test at every cut."""
    return _sprt("sprt", family, at, indifference, scale, 1.0, curtails=False)


def make_curtailed_sprt(
    family: AbstractItemTest,
    *,
    at: At = "cut",
    indifference: Indifference = 0.25,
    gamma: Gamma = 0.95,
    scale: Scale = 1.0,
) -> SprtExplorer:
    """The same, curtailed."""
    check_between("gamma", gamma, 0.5, 1.0)
    return _sprt(
        "curtailed-sprt", family, at, indifference, scale, gamma, curtails=True
    )


def _sprt(
    name, family: AbstractItemTest, at, indifference, scale, gamma, *, curtails
) -> SprtExplorer:
    check_one_of("at", at, _PLACES)
    check_positive("indifference", indifference)
    items, cuts = family.items(), family.cut_scores()
    above, below = (
        jnp.asarray(
            np.log(np.maximum(answer_probabilities(items, cuts + side), 1e-12)),
            jnp.float32,
        )
        for side in (indifference, -indifference)
    )
    return SprtExplorer(
        name,
        family.exact_belief(),
        _score(family, at),
        above,
        below,
        gamma,
        check_scale(scale),
        curtails,
        family.spec,
    )


def _score(family: AbstractItemTest, at: str) -> InformationAtAbility:
    items, cells, cuts = family.items(), family.quadrature(), family.cut_scores()
    costs = np.asarray(family.spec.costs or (1.0,) * family.spec.num_queries)
    at_cuts = fisher_information(items, cuts) if at == "cut" else None
    return InformationAtAbility(
        jnp.asarray(cells.nodes, jnp.float32),
        jnp.asarray(fisher_information(items, cells.nodes), jnp.float32),
        None if at_cuts is None else jnp.asarray(at_cuts, jnp.float32),
        jnp.asarray(cuts, jnp.float32),
        jnp.asarray(costs, jnp.float32),
    )
