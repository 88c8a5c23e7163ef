"""Files are sealed again without training, and their certificates stay valid."""

import dataclasses

import pytest
from reseal import reseal

from icpe import zoo
from icpe.artifact import Artifact
from icpe.artifact.certificate import Certificate
from icpe.artifact.sealed import read_stored
from icpe.core.errors import ArtifactError
from support.rewriting import as_before_seals, rewrite

NAME = "binary-search-8"


@pytest.fixture
def old(tmp_path):
    """A shipped file as it was before there were seals."""
    path = tmp_path / "old.safetensors"
    path.write_bytes(zoo.path(NAME).read_bytes())

    def forget_the_document(document):
        (record,) = document["certificates"]
        certificate = Certificate.from_dict(record)
        first = dataclasses.replace(certificate, document=None).sealed().to_dict()
        document["certificates"] = [first]

    rewrite(path, forget_the_document)
    as_before_seals(path)
    return path


@pytest.mark.parametrize("name", zoo.names())
def test_every_shipped_file_has_the_present_seal(name):
    stored = read_stored(zoo.path(name))
    assert stored.sealed and stored.document["format_version"] == 2
    assert all(it["document"] for it in stored.document["certificates"])


def test_a_file_from_before_is_sealed_and_serves_as_it_did(old):
    before = Artifact.load(old)
    assert not read_stored(old).sealed
    assert before.serve(error_prob=0.01).certified
    assert reseal(old)
    after = Artifact.load(old)
    assert read_stored(old).sealed
    assert after.weights_hash == before.weights_hash
    assert after.table == before.table
    (record,) = after.certificates
    assert Certificate.from_dict(record).is_intact
    assert record["document"] == after.subject_hash
    assert after.serve(error_prob=0.01).certified
    assert not reseal(old)  # nothing is left to do
    # Whatever is written into it later is sealed, and leaves the certificate alone.
    dataclasses.replace(after, evaluation={"accuracy": 1.0}).save(old)
    assert read_stored(old).sealed
    assert Artifact.load(old).serve(error_prob=0.01).certified


def test_a_certificate_that_was_changed_is_not_sealed_again(old):
    def improve(document):
        document["certificates"][0]["error_prob"] = 0.001

    rewrite(old, improve, sealed=False)
    content = old.read_bytes()
    with pytest.raises(ArtifactError, match="changed after it was made"):
        reseal(old)
    assert old.read_bytes() == content
