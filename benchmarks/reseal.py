"""Seals the files of the zoo again, by the present rule, without training anything.

    python benchmarks/reseal.py [NAME ..] [--verify]

Each file is read and checked by the rule it was sealed with. Its certificates, where
they are intact and about these networks and this family, then name the document they
are about, and the file is written in the present format. --verify plays the episodes
of the certificates again afterwards. What has the present seal already is left alone.
"""

import argparse
import dataclasses
import sys
import tempfile
from pathlib import Path

from icpe import zoo
from icpe.artifact import Artifact
from icpe.artifact.certificate import Certificate
from icpe.artifact.document import is_sealed_by_the_old_rule, read_card
from icpe.cli.runtime import keep_compiled_programs
from icpe.core.errors import ArtifactError
from icpe.core.fingerprint import fingerprint
from icpe.evaluate.verify import verify


def resealed(artifact: Artifact) -> Artifact:
    """The artifact, its certificates naming the document they are about.

    Raises:
        ArtifactError: a certificate was changed, or is about something else.
    """
    about = (artifact.weights_hash, fingerprint(artifact.family))
    records = []
    for record in artifact.certificates:
        certificate = Certificate.from_dict(record)
        if not certificate.is_intact:
            raise ArtifactError("A certificate was changed after it was made.")
        if (certificate.weights, certificate.fingerprint) != about:
            raise ArtifactError("A certificate is about other networks or a family.")
        if certificate.document is None:
            named = dataclasses.replace(certificate, document=artifact.subject_hash)
            certificate = named.sealed()
        records.append(certificate.to_dict())
    return dataclasses.replace(artifact, certificates=tuple(records))


def reseal(path: Path) -> bool:
    """Seals a file again; False if it has the present seal already."""
    if not is_sealed_by_the_old_rule(read_card(path)):
        return False
    before = Artifact.load(path)
    after = resealed(before)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        after.save(copy)
        found = Artifact.load(copy)
        assert found.weights_hash == before.weights_hash
        assert found.table == before.table
    after.save(path)
    return True


def check(name: str) -> bool:
    """Whether every certificate of a file verifies."""
    artifact = zoo.load(name)
    fine = True
    for record in artifact.certificates:
        if not record["certified"]:
            continue
        found = verify(artifact, record["error_prob"], confidence=record["confidence"])
        fine &= found.verified
        words = "verified" if found.verified else "; ".join(found.problems)
        print(f"{name}: error_prob {record['error_prob']:g} {words}", flush=True)
    return fine


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Seal the files of the zoo again.")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--verify", action="store_true")
    args = parser.parse_args()
    keep_compiled_programs()
    fine = True
    for name in args.names or zoo.names():
        done = "sealed again" if reseal(zoo.path(name)) else "as it should be"
        print(f"{name}: {done}", flush=True)
        if args.verify:
            fine &= check(name)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
