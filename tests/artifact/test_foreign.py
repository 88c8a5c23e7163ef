"""Files from which explorers are made, given where explorers are."""

import pytest

from icpe.artifact import Artifact
from icpe.core.errors import ArtifactError


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("cases.csv", "icpe train-table FILE --target COLUMN"),
        ("car.BIF", "icpe rule --network FILE"),
    ],
)
def test_what_explorers_are_made_of_is_answered_with_how(tmp_path, name, command):
    file = tmp_path / name
    file.write_text("age,diagnosis\n3,cold\n")
    with pytest.raises(ArtifactError) as caught:
        Artifact.load(file)
    assert f"make one with {command}" in str(caught.value)
