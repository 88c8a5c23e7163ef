"""Which of several Bernoulli arms is best: exact posterior under Beta priors.

Each arm's success rate has an independent Beta law (the prior plus what was counted).
The posterior that arm k is best and leads by at least g is proportional to

    integral over y in [0, 1-g] of f_k(y + g) prod_{j != k} F_j(y) dy

with densities f and distribution functions F. With y = (1-g) sin^2(t/2) every Beta
density has about the same width in t and its edges are smooth, so the integral over
t in [0, pi] is split into panels with Gauss-Legendre nodes; F comes from the same
nodes by integrating the interpolating polynomial of each panel.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from icpe.core.errors import InvalidParameterError

Rates = Float[Array, "arms"]
Nodes = Float[Array, "nodes"]

_NODES_PER_PANEL = 8


def bernoulli_best_arm_log_posterior(
    alpha: Rates, beta: Rates, min_gap: float = 0.0, num_panels: int = 32
) -> Float[Array, "arms"]:
    """Log-probability that each arm is best, given that it leads by `min_gap`.

    Args:
        alpha: first Beta parameter of each arm: prior plus successes.
        beta: second Beta parameter of each arm: prior plus failures.
        min_gap: the best arm is known to lead every other by at least this.
        num_panels: panels of the quadrature. 32 are exact to 1e-12 up to 500
            observations of an arm and to 1e-5 up to 2,000; the number needed grows
            with the root of the observations, and parameters below 1/2 need more.

    Raises:
        InvalidParameterError: the gap is not in [0, 1).
    """
    if not 0.0 <= min_gap < 1.0:
        raise InvalidParameterError(
            f"min_gap must be at least 0 and below 1; got {min_gap}."
        )
    grid = _Grid.of(min_gap, num_panels, alpha.dtype)
    log_below = _log_density(alpha, beta, grid.log_y, grid.log_not_y)
    log_above = _log_density(alpha, beta, grid.log_x, grid.log_not_x)
    peak = jnp.maximum(jnp.max(log_below, axis=1), jnp.max(log_above, axis=1))[:, None]
    log_distribution = jnp.log(grid.integrate_up_to(jnp.exp(log_below - peak)))
    others = jnp.sum(log_distribution, axis=0, keepdims=True) - log_distribution
    log_scores = logsumexp(log_above - peak + others + grid.log_weights[None], axis=1)
    return jax.nn.log_softmax(log_scores)


def _log_density(
    alpha: Rates, beta: Rates, log_p: Nodes, log_not_p: Nodes
) -> Float[Array, "arms nodes"]:
    """Beta log-densities without their constants, which cancel."""
    return (alpha - 1.0)[:, None] * log_p[None] + (beta - 1.0)[:, None] * log_not_p[
        None
    ]


class _Grid(eqx.Module):
    """Nodes y with x = y + gap, weights, and what integrates up to each node."""

    log_y: Nodes
    log_not_y: Nodes
    log_x: Nodes
    log_not_x: Nodes
    log_weights: Nodes
    panel_weights: Float[Array, "panels panel_nodes"]
    panel_integrals: Float[Array, "panels panel_nodes panel_nodes"]

    @staticmethod
    def of(min_gap: float, num_panels: int, dtype) -> "_Grid":
        nodes, weights = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
        half = np.pi / num_panels / 2.0
        t = (half * (2.0 * np.arange(num_panels)[:, None] + 1.0 + nodes)).ravel()
        room = 1.0 - min_gap
        y, not_x = room * np.sin(t / 2.0) ** 2, room * np.cos(t / 2.0) ** 2
        slope = (0.5 * room * np.sin(t)).reshape(num_panels, -1)
        logs = (np.log(each) for each in (y, min_gap + not_x, y + min_gap, not_x))
        panel_weights = half * weights * slope
        integrals = half * _integration_matrix(nodes) * slope[:, None, :]
        arrays = (*logs, np.log(panel_weights).ravel(), panel_weights, integrals)
        return _Grid(*(jnp.asarray(array, dtype) for array in arrays))

    def integrate_up_to(
        self, values: Float[Array, "arms nodes"]
    ) -> Float[Array, "arms nodes"]:
        """The integral of each row from 0 to each node, positive."""
        by_panel = values.reshape(values.shape[0], *self.panel_weights.shape)
        totals = jnp.einsum("apn,pn->ap", by_panel, self.panel_weights)
        before = jnp.cumsum(totals, axis=1) - totals
        within = jnp.einsum("apn,pin->api", by_panel, self.panel_integrals)
        integral = (before[:, :, None] + within).reshape(values.shape)
        return jnp.maximum(integral, jnp.finfo(values.dtype).tiny)


def _integration_matrix(nodes: np.ndarray) -> np.ndarray:
    """Maps values at the nodes to integrals of their interpolant from -1 to each node.

    Legendre expansion: the coefficients are Gaussian sums, and P_k integrates to
    (P_{k+1} - P_{k-1}) / (2k + 1).
    """
    size = len(nodes)
    _, weights = np.polynomial.legendre.leggauss(size)
    values = np.polynomial.legendre.legvander(nodes, size)
    degrees = np.arange(size)
    coefficients = (degrees + 0.5)[:, None] * values[:, :size].T * weights
    lower = np.concatenate([-np.ones((size, 1)), values[:, : size - 1]], axis=1)
    integrals = (values[:, 1:] - lower) / (2.0 * degrees + 1.0)
    return integrals @ coefficients
