"""Damage: nothing that was altered is taken for what it was."""

import json
import random

import numpy as np
import pytest
from safetensors.numpy import save_file

from icpe import zoo
from icpe.artifact import Artifact
from icpe.artifact.document import read_artifact
from icpe.artifact.sealed import read_stored
from icpe.cli.main import main
from icpe.core.errors import IcpeError
from support.certificates import unearned_certificate
from support.flips import NUM_FLIPS, count_altered
from support.rewriting import as_before_seals, rewrite
from support.toy_artifacts import guesser


def test_no_flipped_bit_of_an_artifact_changes_what_it_means(tmp_path):
    path = tmp_path / "explorer.safetensors"
    smallest = min(zoo.names(), key=lambda name: zoo.path(name).stat().st_size)
    path.write_bytes(zoo.path(smallest).read_bytes())
    refused, altered = count_altered(path, read_artifact, random.Random(0))
    assert altered == 0
    assert refused >= NUM_FLIPS - 10  # only padding means nothing


def test_a_document_says_what_it_was_sealed_with(tmp_path):
    """Flips in the document alone, which is a small part of a file."""
    path = tmp_path / "explorer.safetensors"
    artifact = guesser().with_certificate(unearned_certificate())
    artifact.save(path)
    refused, altered = count_altered(path, read_artifact, random.Random(1))
    assert altered == 0 and refused >= NUM_FLIPS - 10


def test_a_changed_price_range_is_refused(tmp_path):
    path = tmp_path / "explorer.safetensors"
    guesser().save(path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"[0.05, 0.1]", b"[0.01, 0.1]"))
    assert path.read_bytes() != content
    with pytest.raises(IcpeError, match="changed since it was written"):
        Artifact.load(path)


def test_a_seal_under_another_name_is_damage(tmp_path):
    """A checkpoint has no format that would need a seal."""
    path = tmp_path / "explorer.safetensors"
    guesser().save(path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b'\\"seal\\"', b'\\"seam\\"'))
    assert path.read_bytes() != content
    with pytest.raises(ValueError, match="changed since it was written"):
        read_stored(path)


def test_a_file_of_the_present_format_needs_its_seal(tmp_path):
    path = tmp_path / "explorer.safetensors"
    guesser().save(path)
    rewrite(path, sealed=False)
    with pytest.raises(IcpeError, match="has no seal"):
        Artifact.load(path)


def test_a_file_from_before_seals_loads_and_is_marked(tmp_path, capsys):
    path = tmp_path / "explorer.safetensors"
    guesser().save(path)
    assert main(["show", str(path)]) == 0
    assert "sealed by the old rule" not in capsys.readouterr().out
    as_before_seals(path)
    assert main(["show", str(path)]) == 0
    assert "sealed by the old rule" in capsys.readouterr().out
    artifact = Artifact.load(path)
    artifact.save(path)
    assert read_stored(path).sealed


def test_a_certificate_serves_the_document_it_was_made_for(tmp_path):
    artifact = guesser()
    named = {"weights": artifact.weights_hash, "document": artifact.subject_hash}
    certificate = unearned_certificate(error_prob=0.6, price=0.05, **named)
    certified = artifact.with_certificate(certificate)
    path = tmp_path / "explorer.safetensors"
    certified.save(path)
    assert Artifact.load(path).serve(error_prob=0.6).certified
    # Whatever else becomes of the file leaves the certificate as it is.
    rewrite(path, lambda document: document["provenance"].update(seconds=3.0))
    rewrite(path, lambda document: document["operating_table"].update(seed=9))
    assert Artifact.load(path).serve(error_prob=0.6).certified
    # Another price range is another explorer, even under a seal that fits.
    rewrite(path, lambda document: document.update(price_range=[0.01, 0.1]))
    assert not Artifact.load(path).serve(error_prob=0.6).certified


@pytest.mark.parametrize("depth", [100, 100_000])
def test_a_nested_document_is_refused(tmp_path, depth):
    path = tmp_path / "explorer.safetensors"
    guesser().save(path)
    nested = "[" * depth + "]" * depth
    document = json.dumps({"format_version": 1, "training": "HERE"})
    document = document.replace('"HERE"', nested)
    save_file({"x": np.zeros(1)}, str(path), metadata={"icpe": document})
    with pytest.raises(IcpeError, match=r"damaged|nested too deeply"):
        Artifact.load(path)
