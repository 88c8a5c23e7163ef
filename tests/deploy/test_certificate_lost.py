"""A certificate is lost, with a reason, when what it is about is left."""

import functools as ft

import jax.random as jr
import numpy as np
import pytest

from icpe.artifact import Artifact
from icpe.core.errors import InvalidOutcomeError
from icpe.core.fingerprint import fingerprint
from icpe.deploy import Session
from icpe.explorers.neural.config import NetConfig, PriceRange
from icpe.explorers.neural.networks import ExplorerNets
from icpe.families import GaussianBandit, RandomTests
from icpe.nets.transformer import TransformerConfig
from icpe.play.rollout import rollout_chunks
from support.certificates import unearned_certificate
from support.random_weights import random_weights

TINY = NetConfig(TransformerConfig(width=8, num_layers=1, num_heads=2))
BANDIT = GaussianBandit(num_arms=3, horizon=8)
VARYING = GaussianBandit(num_arms=3, horizon=8, vary_arms=True)
TESTS = RandomTests(num_conditions=4, num_tests=6)


@ft.cache
def certified(family) -> Artifact:
    nets = random_weights(
        lambda key: ExplorerNets(family.spec, TINY, PriceRange(0.0001, 0.2), key=key)
    )
    artifact = Artifact(nets=nets, family=family, training={}, provenance={})
    certificate = unearned_certificate(
        error_prob=0.1,
        price=0.0001,
        weights=artifact.weights_hash,
        fingerprint=fingerprint(family),
    )
    return artifact.with_certificate(certificate)


def ask(session) -> int:
    query = session.ask()
    assert query is not None
    return query


def session_of(family, **options):
    session = Session(certified(family), error_prob=0.1, **options)
    assert session.certified and session.certificate_lost is None
    assert session.ask() is not None
    return session


def test_answers_to_what_was_asked_keep_it():
    session = session_of(BANDIT)
    session.tell(ask(session), 0.3)
    assert session.certified and session.certificate_lost is None


def test_an_answer_to_another_query_voids_it_for_good():
    session = session_of(BANDIT)
    asked = ask(session)
    session.tell((asked + 1) % 3, 0.3)
    reason = session.certificate_lost
    assert reason is not None and "been asked for" in reason
    if session.ask() is not None:
        session.tell(ask(session), 0.3)
    assert session.certificate_lost == reason and not session.certified


def test_a_mask_that_the_family_cannot_produce_voids_it():
    session = session_of(BANDIT)
    session.tell(ask(session), 0.3, query_mask=[True, True, False])
    assert session.certificate_lost == (
        "query_mask is not what the family allows after these answers"
    )
    session = Session(certified(BANDIT), error_prob=0.1, query_mask=[True, True, False])
    assert not session.certified


def test_the_mask_of_the_family_itself_keeps_it():
    session = session_of(BANDIT)
    session.tell(ask(session), 0.3, query_mask=[True] * 3)
    assert session.certified
    session = session_of(TESTS)
    query = ask(session)
    left = np.ones(6, bool)
    left[query] = False
    session.tell(query, 0.0, query_mask=left)
    assert session.certified


def test_an_end_that_the_family_never_makes_voids_it():
    session = session_of(BANDIT)
    session.tell(ask(session), 0.3, terminated=True)
    assert session.certificate_lost is not None
    assert "never do" in session.certificate_lost


def test_what_is_revealed_first_is_demanded_by_name():
    with pytest.raises(InvalidOutcomeError, match="give reward, number of arms"):
        Session(certified(VARYING), error_prob=0.1)
    assert Session(
        certified(VARYING), error_prob=0.1, first_outcome=[0.0, 2.0]
    ).certified


def test_without_a_certificate_there_is_none_to_lose():
    session = Session(certified(BANDIT), budget=3)
    session.tell((ask(session) + 1) % 3, 0.3)
    assert not session.certified and session.certificate_lost is None


def test_sessions_of_a_family_that_asks_once_equal_the_rollout():
    """Told answers alone, as the docs show: no mask is ever given."""
    artifact = certified(TESTS)
    episodes = 300
    point = artifact.operating_point(budget=5)
    (chunk,) = rollout_chunks(
        artifact.explorer, TESTS, point, episodes, key=jr.key(3), chunk_size=episodes
    )
    for episode in range(episodes):
        session = Session(artifact, budget=5)
        queries = chunk.history.queries[episode]
        for step in range(int(chunk.history.length[episode])):
            assert session.ask() == queries[step]
            session.tell(queries[step], chunk.history.outcomes[episode, step + 1])
        assert session.ask() is None
        assert session.recommendation == chunk.ending.recommendation[episode]
        assert len({answer.query for answer in session.history}) == 5
