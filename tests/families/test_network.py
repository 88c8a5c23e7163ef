"""Families from Bayesian networks: read as pyAgrum reads them, exact as it is."""

import itertools

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import icpe
from icpe.core.errors import IcpeError
from icpe.families import from_network, make
from icpe.testing import check_family

BIF = """
network small {
}
variable Cause/1 {
  type discrete [ 2 ] { on, off };
}
variable Fault {
  type discrete [ 3 ] { a/b, 5-12, >=7 };
}
variable Sign {
  type discrete [ 2 ] { yes, no };
}
variable Echo {
  type discrete [ 3 ] { low, mid, high };
}
probability ( Cause/1 ) {
  table 0.3, 0.7;
}
probability ( Fault | Cause/1 ) {
  (on) 0.6, 0.3, 0.1;
  (off) 0.1, 0.3, 0.6;
}
probability ( Sign | Fault, Cause/1 ) {
  (a/b, on) 0.9, 0.1;
  (a/b, off) 0.6, 0.4;
  (5-12, on) 0.5, 0.5;
  (5-12, off) 0.2, 0.8;
  (>=7, on) 0.1, 0.9;
  (>=7, off) 0.3, 0.7;
}
probability ( Echo | Sign, Fault ) {
  (yes, a/b) 0.7, 0.2, 0.1;
  (no, a/b) 0.1, 0.1, 0.8;
  (yes, 5-12) 0.3, 0.3, 0.4;
  (no, 5-12) 0.0, 0.5, 0.5;
  (yes, >=7) 0.2, 0.6, 0.2;
  (no, >=7) 1.0, 0.0, 0.0;
}
"""


@pytest.fixture
def bif(tmp_path):
    def write(text=BIF, name="small.bif"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def family(bif):
    return from_network(bif(), "Fault", costs={"Cause/1": 1, "Sign": 1, "Echo": 2})


def enumerated(family):
    """P(all variables), by the product of the tables."""
    structure, tables = family.structure, np.asarray(family.tables, float)
    joint = np.zeros(structure.sizes)
    for values in itertools.product(*map(range, structure.sizes)):
        chance = 1.0
        for node, parents in enumerate(structure.parents):
            begin, end = structure.offsets[node : node + 2]
            table = tables[begin:end].reshape(structure.table_shape(node))
            chance *= table[tuple(values[it] for it in (*parents, node))]
        joint[values] = chance
    return joint


@pytest.mark.slow
def test_it_keeps_its_contract(family):
    check_family(family)
    check_family(make("network"))


def test_names_that_are_no_identifiers_are_kept(family):
    assert family.spec.hypothesis_names == ("a/b", "5-12", ">=7")
    assert set(family.spec.query_names) == {"Cause/1", "Sign", "Echo"}


def test_the_tables_are_those_of_the_file(family):
    joint = enumerated(family)
    fault = family.variables.index("Fault")
    others = tuple(i for i in range(4) if i != fault)
    np.testing.assert_allclose(joint.sum(axis=others), [0.25, 0.3, 0.45], atol=1e-6)
    belief = family.exact_belief()
    prior = np.exp(eqx.filter_jit(belief.log_posterior)(belief.init(jnp.zeros(1))))
    np.testing.assert_allclose(prior, [0.25, 0.3, 0.45], atol=1e-5)
    np.testing.assert_allclose(np.exp(belief.log_prior), prior, atol=1e-5)


@pytest.mark.parametrize("seen", [{}, {"Sign": 0}, {"Echo": 2, "Cause/1": 1}])
def test_posterior_and_gains_are_those_of_enumeration(family, seen):
    joint = enumerated(family)
    fault = family.variables.index("Fault")
    belief = family.exact_belief()
    state = belief.init(jnp.zeros(1))
    for name, value in seen.items():
        query = family.queries.index(name)
        state = belief.update(state, jnp.asarray(query), jnp.float32([value]))
        kept = np.arange(joint.shape[family.variables.index(name)]) == value
        shape = [1] * joint.ndim
        shape[family.variables.index(name)] = -1
        joint = joint * kept.reshape(shape)
    joint = joint / joint.sum()
    axes = tuple(i for i in range(joint.ndim) if i != fault)
    expected = joint.sum(axis=axes)
    np.testing.assert_allclose(
        np.exp(eqx.filter_jit(belief.log_posterior)(state)), expected, atol=1e-5
    )
    gains = np.asarray(eqx.filter_jit(belief.information_gains)(state))
    for query, name in enumerate(family.queries):
        node = family.variables.index(name)
        axes = tuple(i for i in range(joint.ndim) if i not in (fault, node))
        both = joint.sum(axis=axes)
        alone = both.sum(0, keepdims=True) * both.sum(1, keepdims=True)
        ratio = np.where(both > 0, both, 1.0) / np.where(both > 0, alone, 1.0)
        told = (both * np.log(ratio)).sum() if name not in seen else 0.0
        assert gains[query] == pytest.approx(told, abs=2e-5)


def test_the_posterior_is_that_of_pyagrum(bif):
    """A random network of the size of a small diagnosis problem."""
    from_network(bif(), "Fault")  # which loads pyAgrum with care
    import pyagrum

    pyagrum.initRandom(7)
    network = pyagrum.BNGenerator().generate(12, 16, 3)
    names = sorted(network.names())
    family = from_network(network, names[0])
    belief = family.exact_belief()
    assert belief is not None
    task = np.asarray(family.sample_task(key=jr.key(1)))
    state, evidence = belief.init(jnp.zeros(1)), {}
    for query, name in enumerate(family.queries[:5]):
        value = int(task[family.variables.index(name)])
        state = belief.update(state, jnp.asarray(query), jnp.float32([value]))
        evidence[name] = family.states[family.variables.index(name)][value]
    engine = pyagrum.LazyPropagation(network)
    engine.setEvidence(evidence)
    engine.makeInference()
    expected = engine.posterior(names[0]).toarray()
    np.testing.assert_allclose(
        np.exp(eqx.filter_jit(belief.log_posterior)(state)), expected, atol=1e-4
    )


def test_tasks_follow_the_network(family, draw_tasks):
    """Each cell of 20,000 tasks by 5 standard errors: a false alarm below 3e-5."""
    tasks, joint = draw_tasks(family, 20_000), enumerated(family)
    found = np.zeros_like(joint)
    np.add.at(found, tuple(tasks.T), 1 / 20_000)
    error = np.sqrt(joint * (1 - joint) / 20_000)
    assert np.all(np.abs(found - joint) <= 5 * error + 1e-9)


def test_a_session_goes_by_the_names_of_the_network(family):
    greedy = icpe.make_explorer("information-gain", family)
    session = icpe.Session(greedy, family, error_prob=0.01)
    session.tell("Sign", "no")
    session.tell("Echo", "low")
    assert session.recommendation_name == ">=7"


def test_findings_that_cannot_be_contradict(bif, history_of):
    family = from_network(bif(), "Fault", queries=["Sign", "Echo"])
    assert not family.contradicts(history_of((0, 1.0)))
    sure = BIF.replace("(a/b, on) 0.9, 0.1", "(a/b, on) 1.0, 0.0")
    sure = sure.replace("(a/b, off) 0.6, 0.4", "(a/b, off) 1.0, 0.0")
    certain = from_network(bif(sure), "Sign", queries=["Fault", "Echo", "Cause/1"])
    assert not certain.contradicts(history_of((0, 0.0)))


@pytest.mark.parametrize(
    "change, complaint",
    [
        (("(5-12, on)", "(5-13, on)"), "'Fault' is '5-13'; did you mean '5-12'"),
        (("Sign | Fault, ", "Sign | Fault, Luck, "), "'Luck', which is no variable"),
        (("(on) 0.6, 0.3", "(on) 0.6, 0.9"), "probabilities of 'Fault' .*sum is 1.6"),
        (("[ 3 ] { low,", "[ 4 ] { low,"), "to have 4 states, but 3 are named"),
        (("(on) 0.6, 0.3,", "(on) 0.6, x,"), "'0.6, x, 0.1' as probabilities of 'Fau"),
        (("  (5-12, on) 0.5, 0.5;\n", ""), "no probabilities of 'Sign' for some st"),
        (("{ low, mid,", "{ low, low,"), "state 'low' of variable 'Echo' twice"),
        (
            ("Cause/1 ) {\n  table 0.3, 0.7;", "Cause/1 | Echo ) {\n  table 0.3, 0.7;"),
            "small.bif .*",
        ),
    ],
)
def test_a_bad_network_is_refused_in_one_sentence(bif, change, complaint):
    before, after = change
    assert before in BIF
    with pytest.raises(IcpeError, match=complaint) as caught:
        from_network(bif(BIF.replace(before, after, 1)), "Fault")
    assert "\n" not in str(caught.value)


def test_a_cycle_is_refused(bif):
    cycle = """
    network c { }
    variable A { type discrete [ 2 ] { x, y }; }
    variable B { type discrete [ 2 ] { x, y }; }
    probability ( A | B ) { (x) 0.5, 0.5; (y) 0.5, 0.5; }
    probability ( B | A ) { (x) 0.5, 0.5; (y) 0.5, 0.5; }
    """
    with pytest.raises(IcpeError, match="cycle"):
        from_network(bif(cycle), "A")


@pytest.mark.parametrize(
    "arguments, complaint",
    [
        ({"target": "Falt"}, "target must be a variable .*did you mean 'Fault'"),
        ({"queries": ["Sing"]}, "got 'Sing'; did you mean 'Sign'"),
        ({"queries": ["Fault"]}, "'Fault' is the target"),
        ({"queries": ["Sign", "Sign"]}, "named twice"),
        ({"network": "nowhere.bif"}, "no such file"),
        ({"network": 3}, "path of a file or a pyAgrum network"),
    ],
)
def test_bad_arguments_are_refused(bif, arguments, complaint):
    with pytest.raises(IcpeError, match=complaint):
        from_network(**{"network": bif(), "target": "Fault"} | arguments)


def test_what_has_no_cost_costs_1(bif):
    family = from_network(bif(), "Fault", costs={"Echo": 2})
    named = dict(zip(family.spec.query_names, family.spec.costs, strict=True))
    assert named == {"Cause/1": 1.0, "Sign": 1.0, "Echo": 2.0}


def test_names_in_quotes_may_have_anything_in_them(bif):
    quoted = BIF.replace("Cause/1", '"Cause (1), {so far}"').replace(">=7", '"> 7; x"')
    family = from_network(bif(quoted), "Fault")
    assert "Cause (1), {so far}" in family.queries
    assert family.spec.hypothesis_names[2] == "> 7; x"
    plain = from_network(bif(), "Fault")
    np.testing.assert_array_equal(family.tables, plain.tables)


def test_a_format_that_runs_code_is_not_read(bif):
    with pytest.raises(IcpeError, match=r"has the extension '\.pkl'"):
        from_network(bif(name="small.pkl"), "Fault")
