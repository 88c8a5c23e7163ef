"""A classifier that asks for few features of each case, in the manner of scikit-learn.

classifier = ActiveClassifier(error_prob=0.05, costs={"biopsy": 20.0}).fit(X, y)
classifier.predict(X_new), classifier.n_queries_.mean(), classifier.cost_.mean()
"""

import time
import warnings
from typing import Any

import numpy as np

from icpe.artifact import Artifact
from icpe.artifact.operating_table import OperatingRow, OperatingTable
from icpe.core.errors import (
    InvalidParameterError,
    OperatingPointError,
    missing_extra,
)
from icpe.core.request import Request
from icpe.deploy.session import Session
from icpe.families.table.columns import is_missing
from icpe.integrations.tables.asked import Costs, Groups
from icpe.integrations.tables.fit import FittedTable, fit_table
from icpe.integrations.tables.left_out import Plays, play
from icpe.integrations.tables.measured import make_artifact, operating_table
from icpe.integrations.tables.reading import Column, columns_of, is_frame

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        check_consistent_length,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )
except ImportError as error:
    raise missing_extra(
        "icpe.sklearn needs scikit-learn 1.6 or newer", "tables"
    ) from error


class _Asked:
    """What was asked for the cases that were played last."""

    def __init__(self, num_queries: np.ndarray, cost: np.ndarray):
        self.num_queries, self.cost = num_queries, cost


class ActiveClassifier(ClassifierMixin, BaseEstimator):
    """Classifies cases by asking for one feature after the other, and stops early.

    What is known of a case is compared with all rows of the training data, smeared so
    that no case is just a row. The next feature is the one that tells most about the
    class per cost, and asking ends when the class is sure enough.

    Args:
        error_prob: largest share of wrong answers. The threshold is chosen on training
            rows that are left out one at a time. If it is not reached there, a warning
            says what is. If None, it is the smallest that is reached.
        budget: the most features, or groups of them, that are asked for. Without
            error_prob it is exactly as many.
        costs: what features cost, by name or number, 1 where it is not said; or a
            number for each.
        groups: features that are measured together at one cost: lists of names or
            numbers, with or without names; or a label for every feature.
        held_out: share of the rows that fit leaves alone, for certificates.
        max_queries: the most queries that are ever made for a case; 32 if None, or as
            many as there are.
        random_state: seed of the choice of rows.

    Attributes:
        classes_: the classes.
        n_queries_: how many queries each case took of those that were predicted last;
            before, each training row with itself left out.
        cost_: what these queries cost.
        error_prob_: the error probability that is served; None for a budget alone.
    """

    def __init__(
        self,
        *,
        error_prob: float | None = None,
        budget: int | None = None,
        costs: Costs = None,
        groups: Groups = None,
        held_out: float = 0.2,
        max_queries: int | None = None,
        random_state: int = 0,
    ):
        self.error_prob = error_prob
        self.budget = budget
        self.costs = costs
        self.groups = groups
        self.held_out = held_out
        self.max_queries = max_queries
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any, *, subjects: Any = None) -> "ActiveClassifier":
        """Learns from rows and their classes.

        Args:
            X: an array or a data frame with numbers, words and missing values.
            y: the class of each row; rows without one are left out, with a warning.
            subjects: what each row is about, such as a patient, where several rows may
                be about one; such rows are held out together, and count as one.

        Raises:
            InvalidParameterError: there is one class alone, a class has one row, or a
                parameter is impossible.
        """
        began = time.perf_counter()
        columns = self._read(X, reset=True)
        if y is None:
            raise InvalidParameterError(
                "This ActiveClassifier estimator requires y to be passed, but the "
                "target y is None."
            )
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        columns, y, subjects = _with_a_class(columns, y, subjects)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        self._fitted: FittedTable = fit_table(
            columns,
            labels,
            [str(it) for it in self.classes_],
            groups=self.groups,
            costs=self.costs,
            max_queries=self.max_queries,
            held_out=self.held_out,
            subjects=subjects,
            seed=self._seed(),
        )
        horizon = self._fitted.family.spec.horizon
        self._check_budget(horizon)
        caps = () if self.budget is None else (int(self.budget),)
        self._table: OperatingTable = operating_table(self._fitted, caps)
        self.error_prob_ = self._served()
        self._seconds = time.perf_counter() - began
        self._artifact: Artifact | None = None
        self._asked = _Asked(*self._count(self._fitted.plays))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The class of each case, by the features that were asked for."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class when asking ended."""
        check_is_fitted(self)
        columns = self._read(X, reset=False)
        fitted = self._fitted
        steps = None if self.budget is None else int(self.budget)
        plays = play(fitted.family, fitted.cells(columns), steps=steps)
        number, cost = self._count(plays)
        self._asked.num_queries, self._asked.cost = number, cost
        log_posterior = plays.log_posterior[np.arange(len(number)), number]
        chances = np.exp(log_posterior.astype(np.float64))
        return chances / chances.sum(axis=1, keepdims=True)

    @property
    def n_queries_(self) -> np.ndarray:
        """How many queries each of the cases took that were predicted last."""
        check_is_fitted(self)
        return self._asked.num_queries

    @property
    def cost_(self) -> np.ndarray:
        """What the queries cost of each of these cases."""
        check_is_fitted(self)
        return self._asked.cost

    def session(self, **options: Any) -> Session:
        """One live case: ask, measure, tell, until it stops.

        Args:
            options: of `icpe.Session`, such as another error_prob.
        """
        artifact = self.to_artifact()
        asked = {"error_prob", "budget", "price", "max_queries"}
        if not asked & set(options):
            options = {**options, **self._request()}
        return Session(artifact, **options)

    def to_artifact(self) -> Artifact:
        """The explorer as a file holds it, to be certified, saved and served."""
        check_is_fitted(self)
        if self._artifact is None:
            self._artifact = make_artifact(
                self._fitted, self._table, seed=self._seed(), seconds=self._seconds
            )
        return self._artifact

    def _read(self, X: Any, *, reset: bool) -> list[Column]:
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if not min(X.shape):
                raise InvalidParameterError(
                    f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} "
                    "feature(s) while a minimum of 1 is required."
                )
            return columns_of(X, strings=reset)
        X = validate_data(
            self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan"
        )
        if np.iscomplexobj(X):
            raise InvalidParameterError("Complex data not supported by X.")
        return columns_of(X, strings=reset)

    def _seed(self) -> int:
        state = self.random_state
        if isinstance(state, np.random.RandomState):
            return int(state.randint(2**31))
        return 0 if state is None else int(state)

    def _request(self) -> dict[str, Any]:
        cap = None if self.budget is None else int(self.budget)
        if self.error_prob_ is None:
            return {"budget": cap}
        return {"error_prob": self.error_prob_, "max_queries": cap}

    def _check_budget(self, horizon: int) -> None:
        if self.error_prob is not None:
            Request(error_prob=self.error_prob)
        if self.budget is None:
            return
        Request(budget=self.budget).at(horizon)

    def _served(self) -> float | None:
        """The error probability that is served, None for a budget alone."""
        if self.error_prob is None:
            if self.budget is not None:
                return None
            return self._smallest(None)
        try:
            self._table.row_for(self.error_prob, self.budget)
        except OperatingPointError:
            served = self._smallest(self.budget)
            warnings.warn(
                f"error_prob={self.error_prob:g} is not reached on training rows that "
                f"were left out; {served:g} is served instead. Add rows or features, "
                "or ask for more.",
                stacklevel=3,
            )
            return served
        return self.error_prob

    def _smallest(self, cap: int | None) -> float:
        """The smallest error probability that is reached, if only just below 1."""
        return min(0.999, self._table.smallest_error_prob(cap))

    def _row(self) -> OperatingRow:
        """Where it stops; the most accurate threshold if none is of any use."""
        assert self.error_prob_ is not None
        try:
            return self._table.row_for(self.error_prob_, self.budget)
        except OperatingPointError:
            rows = self._table.priced(self.budget)
            return max(rows, key=lambda row: row.accuracy)

    def _count(self, plays: Plays) -> tuple[np.ndarray, np.ndarray]:
        """Queries and costs of cases, by where each stops."""
        spec = self._fitted.family.spec
        cap = plays.queries.shape[1] if self.budget is None else int(self.budget)
        doubt = None
        if self.error_prob_ is not None:
            doubt = self._row().price
        stops = plays.stops(doubt, cap)
        costs = np.asarray(spec.costs or (1.0,) * spec.num_queries)
        made = np.arange(plays.queries.shape[1])[None] < stops[:, None]
        return stops, np.sum(costs[plays.queries] * made, axis=1)


def _with_a_class(
    columns: list[Column], y: np.ndarray, subjects: Any
) -> tuple[list[Column], np.ndarray, Any]:
    """The rows that have a class; a word is always one."""
    gone = [not isinstance(label, str) and is_missing(label) for label in y]
    if not any(gone):
        return columns, y, subjects
    if all(gone):
        raise InvalidParameterError("y has no class for any row; give some.")
    verb = "has no class and is" if sum(gone) == 1 else "have no class and are"
    warnings.warn(
        f"{sum(gone)} of {len(y)} rows {verb} left out: y is missing there.",
        stacklevel=3,
    )
    kept = np.flatnonzero(~np.array(gone))
    if subjects is not None and len(subjects) == len(y):
        subjects = np.asarray(subjects, object)[kept]
    return (
        [column.rows(kept) for column in columns],
        np.array(y[kept].tolist()),
        subjects,
    )
