"""Networks with odd names, many states, certainties and impossible findings."""

import gzip
import re
import unicodedata
import warnings

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import icpe
from icpe.core.errors import DataError, InvalidParameterError
from icpe.families import from_network
from icpe.families.network.reading import variables_in_words

gum = pytest.importorskip("pyagrum")

CAUSE = "Schaden am Gerät / Ursache"
SIZES = ("sehr klein", "klein", "mittel", "groß", "sehr groß")


def filled(names_and_states, arcs, *, certain=(), zeros=0.25, seed=0):
    """A network with random tables, some of whose entries are 0."""
    bn, rng = gum.BayesNet("odd"), np.random.default_rng(seed)
    for name, states in names_and_states.items():
        bn.add(gum.LabelizedVariable(name, name, list(states)))
    for one, other in arcs:
        bn.addArc(one, other)
    for name in names_and_states:
        table = np.array(bn.cpt(name).toarray(), float)
        rows = table.reshape(-1, table.shape[-1])
        for row in rows:
            row[:] = rng.dirichlet(np.full(len(row), 0.6))
            row[rng.random(len(row)) < zeros] = 0.0
            if name in certain or not row.any():
                row[:] = np.eye(len(row))[rng.integers(len(row))]
        rows /= rows.sum(axis=1, keepdims=True)
        bn.cpt(name).fillWith(rows.ravel().tolist())
    return bn


def in_german():
    """Twelve causes; tests of five states, two of which depend on one another."""
    tests = [f"Prüfung {i} – Größe [mm]" for i in range(4)]
    states = {
        "Alter (Jahre)": ("<1", "1–5", ">5"),
        CAUSE: [f"Ursache {i}: ölig/naß" for i in range(12)],
        **dict.fromkeys(tests, SIZES),
        "Lampe; rot?": ("ja", "nein"),
        "Summe, gesamt": ("0", "1", "2"),
    }
    arcs = [("Alter (Jahre)", CAUSE), *((CAUSE, test) for test in tests)]
    arcs += [(tests[0], tests[1]), ("Alter (Jahre)", tests[2]), (CAUSE, "Lampe; rot?")]
    arcs += [(tests[3], "Summe, gesamt"), ("Lampe; rot?", "Summe, gesamt")]
    return filled(states, arcs, certain=("Summe, gesamt",)), CAUSE


def like_code():
    """A target below its queries; states that look like numbers, truth or nothing."""
    states = {
        "a b": ("1", "2", "3"),
        "c/d": ("0.5", "1.5"),
        "true": ("true", "false"),
        "None": ("nan", "None"),
        "result": ("-1", "0", "+1"),
    }
    arcs = [("a b", "c/d"), ("a b", "true"), ("c/d", "result"), ("true", "result")]
    return filled(states, [*arcs, ("None", "result")], zeros=0.1, seed=1), "result"


def all_certain():
    """A chain without chance but at its root, and variables that have no part in it."""
    states = {
        "root": "abcdefghijkl",
        "middle": "abcd",
        "leaf one": "ab",
        "leaf two": "abc",
        "island": ("on", "off"),
        "constant": ("only", "never"),
    }
    arcs = [("root", "middle"), ("middle", "leaf one"), ("middle", "leaf two")]
    certain = ("middle", "leaf one", "leaf two", "constant")
    bn = filled(states, arcs, certain=certain, zeros=0.0, seed=2)
    bn.cpt("constant").fillWith([1.0, 0.0])
    return bn, "middle"


MAKERS = (in_german, like_code, all_certain)


@pytest.mark.parametrize("make", MAKERS)
def test_the_posterior_is_that_of_pyagrum_whatever_is_seen(make):
    bn, target = make()
    family = from_network(bn, target=target)
    belief = family.exact_belief()
    assert belief is not None
    rng, inference = np.random.default_rng(3), gum.LazyPropagation(bn)
    sizes = [bn.variable(name).domainSize() for name in family.queries]
    states, expected = [], []
    for _ in range(60):
        seen = rng.random(len(sizes)) < rng.random()
        state = np.where(seen, rng.integers(sizes), -1)
        found = {
            name: int(it)
            for name, it in zip(family.queries, state, strict=True)
            if it >= 0
        }
        states.append(state)
        expected.append(_posterior(inference, found, target, belief.log_prior))
    looked = jax.jit(lambda it: jax.vmap(belief.outlook)(it))(
        jnp.asarray(np.array(states), jnp.float32)
    )
    np.testing.assert_allclose(np.exp(looked.log_posterior), expected, atol=2e-6)
    assert np.all(np.isfinite(looked.information))
    assert np.all(looked.information >= 0)


def _posterior(inference, found, target, log_prior):
    """By pyAgrum; the prior where the findings cannot occur together."""
    inference.setEvidence(found)
    try:
        inference.makeInference()
        possible = not found or inference.evidenceProbability() > 0
        posterior = inference.posterior(target).toarray()
    except gum.GumException:
        possible, posterior = False, None
    return posterior if possible else np.exp(log_prior)


@pytest.mark.parametrize("make", MAKERS)
def test_names_survive_a_file_and_a_session(make, tmp_path):
    bn, target = make()
    path = tmp_path / "odd.xdsl"
    gum.saveBN(bn, str(path))
    family = from_network(path, target=target)
    assert set(family.variables) <= {*bn.names()}
    assert family.spec.hypothesis_names == tuple(bn.variable(target).labels())
    task = family.sample_task(key=jr.key(0))
    greedy = icpe.make_explorer("information-gain", family)
    session = icpe.Session(greedy, family, error_prob=0.01)
    inference, found = gum.LazyPropagation(bn), {}
    while not session.stopped:
        name = session.query_name
        assert name is not None
        code = int(task[family.variables.index(name)])
        session.tell(name, bn.variable(name).label(code))
        found[name] = code
        inference.setEvidence(found)
        exact, believed = inference.posterior(target).toarray(), session.posterior
        assert believed is not None
        np.testing.assert_allclose(believed, exact, atol=1e-5)
    assert session.recommendation_name in bn.variable(target).labels()


def test_who_does_not_know_the_variables_is_told_them():
    bn, _ = like_code()
    listed = "its variables are a b, c/d, true, None, result."
    assert variables_in_words(bn) == listed
    with pytest.raises(InvalidParameterError, match=listed):
        from_network(bn, target="disease")
    many = filled({f"x{i}": "ab" for i in range(30)}, [])
    assert variables_in_words(many).endswith("x22, x23 and 6 others.")


GERMAN = """network x {{ }}
variable Störung {{ type discrete [ 2 ] {{ "ölig", "trocken" }}; }}
variable "Geräusch" {{ type discrete [ 2 ] {{ laut, {other} }}; }}
probability ( Störung ) {{ table 0.3, 0.7; }}
probability ( "Geräusch" | Störung ) {{ ("ölig") 0.8, 0.2; (trocken) 0.1, 0.9; }}
"""


def test_what_windows_writes_in_western_europe_is_read_with_a_word(tmp_path):
    path = tmp_path / "x.bif"
    path.write_bytes(GERMAN.format(other="gewöhnlich").encode("latin-1"))
    with pytest.warns(UserWarning, match="it is read as Windows-1252.*save it in UTF"):
        family = from_network(path, "Störung")
    assert family.spec.query_names == ("Geräusch",)
    assert family.spec.hypothesis_names == ("ölig", "trocken")
    packed = tmp_path / "x.bif.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.warns(UserWarning, match=r"x\.bif\.gz is not text in UTF-8"):
        from_network(packed, "Störung")


def test_another_code_page_is_refused(tmp_path):
    path = tmp_path / "x.bif"
    path.write_bytes(GERMAN.format(other="обычно и тихо").encode("cp1251", "replace"))
    with pytest.raises(DataError, match="not text in UTF-8; save it in UTF-8"):
        from_network(path, "Störung")


def test_letters_in_two_parts_equal_those_in_one(tmp_path):
    path, costs = tmp_path / "x.bif", tmp_path / "costs.csv"
    apart = unicodedata.normalize("NFD", GERMAN.format(other="gewöhnlich"))
    path.write_text(apart, encoding="utf-8")
    costs.write_text(unicodedata.normalize("NFD", "query,cost\nGeräusch,3\n"))
    for form in ("NFC", "NFD"):
        target = unicodedata.normalize(form, "Störung")
        family = from_network(path, target, costs=costs)
        assert family.spec.query_names == ("Geräusch",)
        assert family.spec.costs == (3.0,)


@pytest.mark.parametrize("encoding", ["ISO-8859-1", "UTF-8"])
def test_xml_says_its_encoding(tmp_path, encoding):
    path = tmp_path / "x.bifxml"
    states = {"Störung": ("ölig", "trocken"), "Geräusch": ("laut", "leise")}
    gum.saveBN(filled(states, [("Störung", "Geräusch")]), str(path))
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    text = re.sub(r"^<\?xml[^>]*\?>", head, path.read_text(encoding="utf-8"))
    assert text.startswith(head)
    path.write_text(text, encoding=encoding)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is not text in UTF-8")
        family = from_network(path, "Störung")
    assert family.spec.query_names == ("Geräusch",)
    assert family.spec.hypothesis_names == ("ölig", "trocken")
