"""Random tiles, and the answer of a classifier that was trained on whole pictures."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from icpe.core.arrays import Index, PRNGKey, Scalar
from icpe.core.errors import UnsupportedError
from icpe.core.explorer import AbstractExplorer
from icpe.core.request import OperatingPoint
from icpe.core.spec import TaskSpec
from icpe.core.stopping import is_confident, random_query, stop_if, stop_threshold
from icpe.nets.tokens import Summary
from icpe.studies.digits.nets import PictureClassifier, seen_picture


class ClassifiedState(eqx.Module):
    """What was seen; the threshold is None where it never stops."""

    seen: Summary
    threshold: Scalar | None


class ClassifierExplorer(AbstractExplorer):
    """Asks for random tiles and shows the picture seen so far to a classifier.

    Hidden tiles are black. The classifier knows only whole pictures, so its
    probabilities are no posterior: they may be wrong and sure at the same time.
    """

    classifier: PictureClassifier
    spec: TaskSpec = eqx.field(static=True)

    def __check_init__(self):
        check_pictures(self.spec)

    def init(
        self,
        spec: TaskSpec,
        operating_point: OperatingPoint,
        first_outcome: Float[Array, "outcome"],
    ) -> ClassifiedState:
        """Serves a budget, or stops at the classifier's confidence."""
        return ClassifiedState(
            Summary.empty(spec.num_queries, spec.outcome_size),
            stop_threshold("classifier", spec, operating_point),
        )

    def ask(
        self,
        state: ClassifiedState,
        query_mask: Bool[Array, "queries"],
        *,
        key: PRNGKey,
    ) -> Index:
        query = random_query(query_mask, key=key)
        if state.threshold is None:
            return query
        return stop_if(is_confident(self.log_posterior(state), state.threshold), query)

    def tell(
        self, state: ClassifiedState, query: Index, outcome: Float[Array, "outcome"]
    ) -> ClassifiedState:
        return ClassifiedState(uncover(state.seen, query, outcome), state.threshold)

    def recommend(self, state: ClassifiedState) -> Index:
        return jnp.argmax(self.log_posterior(state))

    def log_posterior(self, state: ClassifiedState) -> Float[Array, "hypotheses"]:
        """The classifier's log-probabilities."""
        grid, tile = picture_layout(self.spec)
        picture = seen_picture(state.seen, grid, tile)
        return jax.nn.log_softmax(self.classifier(picture))


def uncover(seen: Summary, query: Index, outcome: Float[Array, "outcome"]) -> Summary:
    """What is seen after one more tile."""
    return seen.add(jax.nn.one_hot(query, seen.counts.shape[0]), outcome)


def picture_layout(spec: TaskSpec) -> tuple[tuple[int, int], tuple[int, int]]:
    """Rows and columns of the grid of tiles, and of a tile."""
    rows, columns = spec.query_grid
    height, width = spec.outcome_shape
    return (rows, columns), (height, width)


def check_pictures(spec: TaskSpec) -> None:
    """Raises one sentence unless the queries are the tiles of a picture."""
    if not (spec.outcome_shape and spec.query_grid):
        raise UnsupportedError(
            "This explorer needs a family whose queries are the tiles of a picture, "
            "such as 'patches'; the spec has no outcome_shape or query_grid."
        )
