"""The promise of a belief, kept by trained networks: two files of the zoo.

Their beliefs are learned, and a first crossing selects overconfidence, so nothing but
the recalibration makes them keep it.
"""

import dataclasses

import numpy as np
import pytest

from icpe import zoo
from icpe.deploy import Session
from icpe.evaluate.benchmark import evaluate
from icpe.evaluate.certify import certify
from icpe.evaluate.recalibrate import recalibrate
from icpe.evaluate.verify import verify

pytestmark = pytest.mark.slow

ERROR_PROB = 0.1
FRESH = 4000


@pytest.fixture(scope="module", params=["bernoulli-bandit-3", "noisy-binary-search-8"])
def explorer(request):
    artifact = zoo.load(request.param)
    table = recalibrate(artifact, episodes=4096)
    artifact = dataclasses.replace(artifact, belief_table=table)
    certificate = certify(artifact, error_prob=ERROR_PROB, promise="belief")
    return artifact.with_certificate(certificate)


def test_it_is_certified_at_the_first_attempt_and_verified(explorer):
    record = explorer.certificates[-1]
    assert (record["promise"], record["certified"]) == ("belief", True)
    # A belief overshoots the doubt at which it stops, so that doubt may be larger.
    ((right, decided),) = record["bound_counts"]
    assert right >= (1 - ERROR_PROB) * decided - 4 * np.sqrt(0.09 * decided)
    found = verify(explorer, ERROR_PROB, promise="belief")
    assert found.verified, found.problems


def test_those_that_stop_by_their_belief_err_rarely_enough(explorer):
    (report,) = evaluate(
        {"it": explorer},
        explorer.family,
        error_prob=ERROR_PROB,
        promise="belief",
        episodes=FRESH,
        seed=17,
    )
    assert report.certified and report.undecided is not None
    decided = round(FRESH * (1 - report.undecided))
    assert decided >= FRESH / 4
    assert report.decided_accuracy is not None
    # Certified is at most 0.1; four standard errors, 3e-5.
    slack = 4 * np.sqrt(ERROR_PROB * (1 - ERROR_PROB) / decided)
    assert report.decided_accuracy >= 1 - ERROR_PROB - slack


def test_a_session_stops_no_earlier_than_it_is_that_sure(explorer):
    doubt = explorer.serve(error_prob=ERROR_PROB, promise="belief").doubt
    assert doubt is not None
    random = np.random.default_rng(0)
    symbols = explorer.guard.law.symbols[:, 0]
    for _ in range(5):
        session = Session(explorer, error_prob=ERROR_PROB, promise="belief")
        while (query := session.ask()) is not None:
            session.tell(query, float(random.choice(symbols)))
        assert session.posterior is not None
        assert session.undecided == (session.posterior.max() < 1 - doubt)
