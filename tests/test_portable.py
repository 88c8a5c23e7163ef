"""The runner of exported explorers does and says what a session does and says."""

import ast
import dataclasses
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import log_ndtr, ndtri_exp

from icpe import portable
from icpe.artifact.belief_table import BeliefRow, BeliefTable
from icpe.artifact.operating_table import OperatingTable
from icpe.core.errors import IcpeError
from icpe.deploy import Session
from icpe.families import BinarySearch, GaussianBandit, MagicRoom, RandomTests
from icpe.portable import guard
from support.exports import Twins, model_of, rewarded, searching, untrained
from support.toy_artifacts import guesser

BANDIT = GaussianBandit(num_arms=3, horizon=12)
SEARCH = BinarySearch(size=6)
VARYING = GaussianBandit(num_arms=4, horizon=6, vary_arms=True)
TESTS = RandomTests(num_conditions=4, num_tests=6)
ROOM = MagicRoom(size=4)


def played(twins: Twins, answer) -> Twins:
    """To the end, with an answer for each query."""
    while (query := twins.one.ask()) is not None:
        twins.tell(query, answer(query))
    return twins


def of_search(number: int):
    return lambda query: float(np.sign(number - query))


@pytest.mark.parametrize("number", range(6))
def test_a_search_is_played_alike_to_the_end(number):
    twins = played(Twins(searching(SEARCH), error_prob=0.1), of_search(number))
    assert twins.two.recommendation == number


@pytest.mark.parametrize("asked", [{"budget": 5}, {"price": 0.01}])
def test_rewards_are_taken_in_alike(asked):
    random = np.random.default_rng(0)
    means = (0.9, 0.5, 0.1)
    for _ in range(5):
        twins = Twins(rewarded(BANDIT), **asked)
        played(twins, lambda query: means[query] + 0.5 * random.standard_normal())


@pytest.mark.parametrize(
    "change",
    [lambda x: 50.0 + x, lambda x: 1e6 * x, lambda x: -3.0, lambda x: 10 * x],
    ids=["shifted", "other units", "constant", "ten times"],
)
@pytest.mark.parametrize("on_alarm", ["go on", "stop"])
def test_alarms_are_raised_alike_and_in_the_same_words(change, on_alarm):
    random = np.random.default_rng(1)
    twins = Twins(rewarded(BANDIT), budget=8, on_alarm=on_alarm)
    played(twins, lambda query: change(0.5 + 0.5 * random.standard_normal()))
    assert twins.two.alarm is not None and "right?" in twins.two.alarm


def test_answers_that_fit_no_number_are_noticed_alike():
    twins = Twins(searching(SEARCH), budget=4)
    for query, answer in ((1, -1.0), (4, 1.0), (2, 0.0), (2, 1.0)):
        twins.tell(query, answer)
    assert twins.two.alarm is not None


@pytest.mark.slow
def test_masks_are_known_alike_and_may_be_told():
    twins = Twins(untrained(VARYING), error_prob=0.1, first_outcome=(0.0, 3.0))
    assert "is not allowed now" in twins.refused(lambda it: it.tell(3, (0.1, 0.0)))
    played(twins, lambda query: (0.2 * query, 0.0))
    twins = Twins(
        untrained(VARYING),
        error_prob=0.1,
        first_outcome=(0.0, 3.0),
        query_mask=[True, False, True, True],
    )
    assert "query_mask is not what the family allows" in twins.lost
    twins = Twins(untrained(VARYING), budget=6, first_outcome=(0.0, 2.0))
    twins.tell(0, (0.1, 0.0), query_mask=[False] * 4)
    assert twins.two.stop_reason.sentence == "no query was left to make"


def test_queries_that_can_be_made_once_are_forbidden_alike():
    twins = Twins(untrained(TESTS), budget=4)
    first = twins.asked
    twins.tell(first, 0.0)
    assert "is not allowed now" in twins.refused(lambda it: it.tell(first, 1.0))
    played(twins, lambda query: float(query % 2))
    assert "has stopped" in twins.refused(lambda it: it.tell(0, 1.0))


@pytest.mark.slow
def test_tasks_that_end_by_themselves():
    twins = Twins(untrained(ROOM), error_prob=0.1, first_outcome=np.zeros(5))
    outcome = np.linspace(0, 1, 5)
    twins.tell(twins.asked, outcome)
    twins.tell(twins.asked, outcome, terminated=True)
    assert twins.two.stop_reason is portable.StopReason.TERMINATED
    twins = Twins(searching(SEARCH), error_prob=0.1)
    twins.tell(twins.asked, 1.0, terminated=True)
    assert "never do" in twins.lost


def test_a_query_that_was_not_asked_for_loses_the_certificate():
    twins = Twins(searching(SEARCH), error_prob=0.1)
    other = (twins.asked + 1) % 6
    twins.tell(other, 1.0)
    assert "had been asked for" in twins.lost


BAD_ANSWERS = [
    (0, 7.0),
    (0, "sideways"),
    (0, None),
    (0, [1.0, 1.0]),
    (0, math.nan),
    (0, 1e300),
    (6, 1.0),
    (-1, 1.0),
    (True, 1.0),
]


@pytest.mark.parametrize("query, outcome", BAD_ANSWERS, ids=str)
def test_bad_answers_are_refused_in_the_same_words(query, outcome):
    twins = Twins(searching(SEARCH), error_prob=0.1)
    assert twins.refused(lambda it: it.tell(query, outcome))


BAD_REQUESTS = [
    {},
    {"error_prob": 0.1, "budget": 3},
    {"error_prob": 0.1, "budget": 3, "price": 0.1},
    {"budget": 3, "max_queries": 2},
    {"error_prob": 0},
    {"error_prob": 1.5},
    {"error_prob": True},
    {"price": -1.0},
    {"price": math.inf},
    {"price": 100.0},
    {"budget": 0},
    {"budget": 99},
    {"error_prob": 0.6, "max_queries": 99},
    {"error_prob": 0.6, "max_queries": 2},
    {"error_prob": 0.001},
    {"error_prob": 0.1, "confidence": 2.0},
    {"error_prob": 0.1, "promise": "always"},
    {"budget": 2, "promise": "belief"},
    {"error_prob": 0.1, "promise": "belief"},
    {"error_prob": 0.1, "promise": "every-hypothesis"},
]


@pytest.mark.parametrize("asked", BAD_REQUESTS, ids=str)
def test_bad_requests_are_refused_in_the_same_words(asked):
    artifact = GUESSER
    with pytest.raises(IcpeError) as one:
        Session(artifact, **asked)
    with pytest.raises(IcpeError) as two:
        portable.Session(model_of(artifact), **asked)
    assert (type(one.value), str(one.value)) == (type(two.value), str(two.value))


GUESSER = guesser(size=4)


def test_the_operating_table_serves_what_no_certificate_does():
    assert isinstance(GUESSER.table, OperatingTable)
    twins = Twins(GUESSER, error_prob=0.8)
    assert not twins.two.certified and twins.two.certificate_lost is None
    assert twins.two.operating_point.price == pytest.approx(0.05)


def test_a_belief_may_be_promised():
    rows = tuple(
        BeliefRow(doubt, 1000, 900, right, 2.0, cost)
        for doubt, right, cost in ((0.02, 899, 2.0), (0.1, 880, 1.5), (0.4, 700, 1.0))
    )
    horizon = SEARCH.spec.horizon
    artifact = dataclasses.replace(
        searching(SEARCH), belief_table=BeliefTable(horizon, 0, 0.01, rows)
    )
    for error_prob in (0.02, 0.05, 0.3):
        asked = {"error_prob": error_prob, "promise": "belief"}
        twins = played(Twins(artifact, **asked), of_search(3))
        assert twins.one.undecided == twins.two.undecided
    asked = {"error_prob": 0.05, "promise": "belief"}
    assert portable.Session(model_of(artifact), **asked).operating_point.doubt == 0.1
    with pytest.raises(portable.OperatingPointError, match="No recalibrated belief"):
        portable.Session(model_of(artifact), error_prob=0.001, promise="belief")


def test_without_a_table_an_error_probability_is_refused_in_the_same_words():
    artifact = dataclasses.replace(GUESSER, table=None)
    for session in (Session, lambda it, **kw: portable.Session(model_of(it), **kw)):
        with pytest.raises(portable.OperatingPointError, match="icpe calibrate FILE"):
            session(artifact, error_prob=0.6)


def test_a_missing_first_outcome_is_refused_in_the_same_words():
    messages = []
    for make in (
        lambda: Session(untrained(VARYING), budget=2),
        lambda: portable.Session(model_of(untrained(VARYING)), budget=2),
    ):
        with pytest.raises(portable.InvalidOutcomeError) as caught:
            make()
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_the_normal_law_without_scipy():
    score = np.concatenate([np.linspace(-90, 9, 991), [-1e3, -20.0, 0.0, 1.0]])
    ours, theirs = guard._log_normal(score), log_ndtr(score)
    np.testing.assert_allclose(ours, theirs, rtol=2e-11, atol=1e-18)
    logs = -np.geomspace(math.log(2.0), 4000.0, 200)
    np.testing.assert_allclose(
        guard._normal_score(logs), ndtri_exp(logs), rtol=1e-9, atol=1e-9
    )


def test_scores_beyond_all_measure_are_the_largest():
    logs = -np.geomspace(1e4, 1e12, 20)
    np.testing.assert_array_less(guard._normal_score(logs), -guard._LARGEST)


def test_a_damaged_model_is_refused(tmp_path):
    path = tmp_path / "explorer.onnx"
    from icpe.export import export_onnx

    export_onnx(GUESSER, path)
    content = path.read_bytes()
    portable.Session(path, budget=2)
    middle = len(content) // 2
    for damaged, part in [
        (
            flipped(content, middle),
            "it has changed since it was written, since its seal is another",
        ),
        (content[:middle], "is not an artifact that can be used: it is damaged"),
        (b"", "it is damaged or was not written by icpe"),
        (b"not a model", "it is damaged or was not written by icpe"),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(portable.ArtifactError, match=part) as caught:
            portable.Session(path, budget=2)
        assert str(path) in str(caught.value)
    with pytest.raises(portable.ArtifactError, match=r"cannot be read: No such file"):
        portable.Session(tmp_path / "missing.onnx", budget=2)


def test_damage_is_told_in_the_words_of_an_artifact(tmp_path):
    from icpe.artifact import Artifact
    from icpe.export import export_onnx

    one, two = tmp_path / "one.safetensors", tmp_path / "two.onnx"
    GUESSER.save(one)
    export_onnx(GUESSER, two)
    whole = [path.read_bytes() for path in (one, two)]
    changed = [
        flipped(content, at) for content, at in zip(whole, (-2, 2000), strict=True)
    ]
    for contents in (changed, [b"not a model"] * 2, [b""] * 2):
        said = []
        for path, content, read in zip(
            (one, two), contents, (Artifact.load, portable.Model), strict=True
        ):
            path.write_bytes(content)
            with pytest.raises(portable.ArtifactError) as caught:
                read(path)
            said.append(str(caught.value).replace(str(path), "It"))
        assert said[0] == said[1]


def flipped(content: bytes, at: int) -> bytes:
    """With one bit changed."""
    found = bytearray(content)
    found[at] ^= 1
    return bytes(found)


def test_it_needs_nothing_of_icpe_but_itself():
    script = (
        "import sys, icpe.portable; "
        "print(sorted(name for name in sys.modules if name.startswith('icpe') or "
        "name in ('jax', 'scipy', 'equinox', 'onnxruntime')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    found = ast.literal_eval(done.stdout)
    assert all(name == "icpe" or name.startswith("icpe.portable") for name in found)
