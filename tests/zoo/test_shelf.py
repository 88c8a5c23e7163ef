"""The shipped explorers: found by name, small, certified, and as they were shipped."""

import pytest

from icpe import Artifact, zoo
from icpe.artifact.certificate import Certificate
from icpe.artifact.document import read_card
from icpe.core.errors import UnknownNameError

LARGEST_ZOO = 25_000_000
NAMES = zoo.names()


def test_the_zoo_has_explorers_and_is_small(script):
    sizes = {name: zoo.path(name).stat().st_size for name in NAMES}
    assert {"binary-search-8", "gaussian-bandit-4"} <= set(NAMES)
    assert sum(sizes.values()) <= LARGEST_ZOO
    assert sizes.pop("digits") <= script.LARGEST_SIZE_OF_PICTURES
    assert max(sizes.values()) <= script.LARGEST_SIZE


@pytest.mark.parametrize("name", NAMES)
def test_every_explorer_is_certified_as_promised(name, script):
    document = read_card(zoo.path(name))
    card = zoo.card(name)
    noiseless = document["family"]["name"] in script.NOISELESS
    assert card.certified_error_prob <= (0.01 if noiseless else 0.1)
    assert card.confidence >= 0.95
    certificates = [Certificate.from_dict(it) for it in document["certificates"]]
    assert certificates[-1].certified  # attempts that failed before stay on record
    for certificate in certificates:
        assert certificate.is_intact
        assert certificate.seed_is_default
        assert certificate.weights == document["weights"]


def test_an_explorer_is_loaded_by_name():
    artifact = zoo.load("binary-search-8")
    assert isinstance(artifact, Artifact)
    assert artifact.family.spec.num_queries == 8
    assert artifact.serve(error_prob=0.01).certified


def test_the_weights_were_rounded_before_the_file_was_measured():
    path = zoo.path("gaussian-bandit-4")
    document = read_card(path)
    num_weights = 2 * 3 * 12 * 128 * 128  # two networks, three layers, nearly
    assert document["training"]["width"] == 128
    assert path.stat().st_size < 2.5 * num_weights
    assert not document["networks"]["transformer"]["bfloat16"]


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(
        UnknownNameError, match=r"it has .*binary-search-8, .*gaussian-ban"
    ):
        zoo.load("nothing of the kind")
    with pytest.raises(UnknownNameError, match="did you mean 'gaussian-bandit-4'"):
        zoo.card("gaussian-bandit-3")
