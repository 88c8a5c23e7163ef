"""From the file of a Bayesian network to a family, through pyAgrum."""

import gzip
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from icpe.core.decoding import composed, decoded
from icpe.core.errors import (
    DataError,
    InvalidParameterError,
    missing_extra,
    suggesting,
)
from icpe.families.csv_files import is_path, read_costs
from icpe.families.likelihoods.reading import MOST_OUTCOMES
from icpe.families.likelihoods.stated import TOLERANCE
from icpe.families.network.bif import PlainNames, with_plain_names
from icpe.families.network.law import Network

_RUNS_CODE = ("pkl",)
"""Formats that run what is in the file."""
_MOST_LISTED = 24
_XML_ENCODING = re.compile(r"""^(<\?xml\b[^>]*?\bencoding=["'])[^"']*""")


def from_network(
    network: Any,
    target: str,
    queries: Sequence[str] | None = None,
    costs: Any = None,
    *,
    horizon: int | None = None,
) -> Network:
    """A family from a Bayesian network: which state does the target have?

    Args:
        network: path of a file that pyAgrum reads (bif, bifxml, xdsl, dsl, net, uai and
            others; a bif file may be compressed by gzip), or a pyAgrum network.
        target: the variable asked about.
        queries: the variables that can be looked at; by default all others.
        costs: cost of each query, in order, by name in a mapping, or the path of a CSV
            file with columns query and cost; by default 1 each.
        horizon: most queries in an episode; by default all of them.

    Raises:
        MissingExtraError: pyAgrum is not installed.
        DataError: the file cannot be read, or is no network.
        InvalidParameterError: target or queries are no variables of it.
    """
    title, bn, names = _load(network)
    variables = {names.variable(bn.variable(i).name()): i for i in bn.nodes()}
    target = composed(str(target))
    if target not in variables:
        raise InvalidParameterError(
            suggesting(
                f"target must be a variable of {title}; got {target!r}",
                target,
                variables,
                _listed(variables),
            )
        )
    if queries is None:
        queries = [name for name in variables if name != target]
    queries = _check_queries(queries, target, variables, title)
    wanted = _ancestors(bn, [variables[name] for name in (target, *queries)])
    order = [node for node in bn.topologicalOrder() if node in wanted]
    states, parents, tables = [], [], []
    by_name = {bn.variable(node).name(): node for node in order}
    for node in order:
        variable = bn.variable(node)
        states.append(names.states(variable.name(), list(variable.labels())))
        cpt = bn.cpt(node)
        # The axes of the array are the names from last to first.
        scope = [by_name[name] for name in reversed(list(cpt.names))]
        parents.append(tuple(order.index(it) for it in scope[:-1]))
        tables.append(
            _checked(
                np.asarray(cpt.toarray(), float), states[-1], variable, names, title
            )
        )
    every = [names.variable(bn.variable(node).name()) for node in order]
    for name in queries:
        number = len(states[every.index(name)])
        if number > MOST_OUTCOMES:
            raise DataError(
                f"{title}: query {name!r} has {number} states; there may be at most "
                f"{MOST_OUTCOMES}."
            )
    if len(states[every.index(target)]) < 2:
        raise DataError(f"{title}: target {target!r} has one state only.")
    if horizon is not None and not horizon >= 1:
        raise InvalidParameterError(f"horizon must be at least 1; got {horizon}.")
    return Network(
        tables=jnp.asarray(np.concatenate(tables)),
        title=title,
        target=target,
        queries=tuple(queries),
        variables=tuple(every),
        states=tuple(states),
        parents=tuple(parents),
        costs=read_costs(costs, tuple(queries), num_queries=len(queries)),
        horizon=horizon or 0,
    )


def variables_in_words(network: Any) -> str:
    """The variables that a network has, for complaints; see `from_network`."""
    _, bn, names = _load(network)
    return _listed(names.variable(bn.variable(i).name()) for i in bn.nodes())


def _load(network: Any) -> tuple[str, Any, PlainNames]:
    """A name for complaints, the network, and how its names are told."""
    gum = _pyagrum()
    if not is_path(network):
        if not isinstance(network, gum.BayesNet):
            raise InvalidParameterError(
                "network must be the path of a file or a pyAgrum network; got "
                f"{type(network).__name__}."
            )
        return "the network", network, PlainNames()
    path = Path(network)
    if not path.is_file():
        raise DataError(f"{path} cannot be read: there is no such file.")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name.removesuffix(".gz")
        try:
            if path.suffix == ".gz":
                with gzip.open(path) as packed, copy.open("wb") as plain:
                    shutil.copyfileobj(packed, plain)
            else:
                shutil.copyfile(path, copy)
        except (OSError, EOFError) as error:
            raise DataError(f"{path} cannot be read: {error}.") from None
        _write_as_utf_8(copy, path)
        names = PlainNames()
        if copy.suffix.lower() == ".bif":
            names = with_plain_names(copy, str(path))
        known = [it for it in gum.availableBNExts().split("|") if it not in _RUNS_CODE]
        if copy.suffix.lower().removeprefix(".") not in known:
            raise DataError(
                f"{path} has the extension {copy.suffix or 'none'!r}; pyAgrum reads "
                f"{', '.join(known)}."
            )
        try:
            bn = gum.loadBN(str(copy))
        except gum.InvalidDirectedCycle:
            raise DataError(
                f"{path} has a cycle: a variable is its own ancestor; remove one of "
                "the arrows."
            ) from None
        except Exception as error:  # whatever pyAgrum finds wrong with it
            said = str(error).replace(str(copy), path.name)
            said = " ".join(said.split()).removeprefix("[pyAgrum] ").rstrip(".")
            said = said or type(error).__name__
            if "cycle" in said.lower():
                said = "it has a cycle: a variable is its own ancestor"
            raise DataError(f"{path} is no network that can be read: {said}.") from None
    return path.name, bn, names


def _write_as_utf_8(copy: Path, path: Path) -> None:
    """What pyAgrum can read, in letters that are equal where they look equal."""
    given = copy.read_bytes()
    text = decoded(given, path, remedy="save it in UTF-8")
    text = _XML_ENCODING.sub(r"\1UTF-8", text)
    if text.encode() != given:
        copy.write_text(text, encoding="utf-8", newline="")


def _pyagrum() -> Any:
    try:
        with warnings.catch_warnings():
            # Its bindings warn when loaded, and crash where warnings are errors.
            warnings.simplefilter("ignore")
            import pyagrum
    except ImportError:
        raise missing_extra("Bayesian networks need pyAgrum", "networks") from None
    return pyagrum


def _check_queries(queries: Sequence[str], target: str, variables, title: str):
    if isinstance(queries, str):
        queries = [queries]
    queries = [composed(str(name)) for name in queries]
    for name in queries:
        if name not in variables:
            raise InvalidParameterError(
                suggesting(
                    f"queries must be variables of {title}; got {name!r}",
                    name,
                    variables,
                    _listed(variables),
                )
            )
        if name == target or queries.count(name) > 1:
            why = "is the target" if name == target else "is named twice"
            raise InvalidParameterError(f"queries: {name!r} {why}; leave it out.")
    if not queries:
        raise InvalidParameterError(f"queries are missing: {title} has none left.")
    return queries


def _listed(variables: Iterable[str]) -> str:
    """The variables there are; of very many the first ones."""
    names = list(variables)
    more = len(names) - _MOST_LISTED
    rest = f" and {more} others" if more > 0 else ""
    return f"its variables are {', '.join(names[:_MOST_LISTED])}{rest}."


def _ancestors(bn: Any, nodes: list[int]) -> set[int]:
    """The nodes and all their ancestors; nobody else matters."""
    found: set[int] = set()
    rest = list(nodes)
    while rest:
        node = rest.pop()
        if node not in found:
            found.add(node)
            rest.extend(bn.parents(node))
    return found


def _checked(table: np.ndarray, states, variable, names: PlainNames, title: str):
    """A table that sums to 1 over the states of its variable, as one vector."""
    sums = table.sum(axis=-1)
    if not np.all(table >= 0) or np.any(np.abs(sums - 1.0) > TOLERANCE):
        if np.any(sums == 0):
            raise DataError(
                f"{title}: there are no probabilities of "
                f"{names.variable(variable.name())!r} for some states of its parents; "
                "give a row for each."
            )
        worst = float(sums.flat[int(np.argmax(np.abs(sums - 1.0)))])
        raise DataError(
            f"{title}: the probabilities of {names.variable(variable.name())!r} "
            f"({', '.join(states)}) must be positive and sum to 1 for all states "
            f"of its parents; one sum is {worst:.6g}."
        )
    return (table / sums[..., None]).reshape(-1)
