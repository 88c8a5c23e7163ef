"""Puts a trained explorer into the zoo: rounded, calibrated, certified, small.

    python benchmarks/ship.py FILE NAME [--error-prob P]

Weights are rounded to what bfloat16 can hold, which halves the file, and are then used
in float32, so that answers hardly depend on the device. What it does at each price and
the certificate are measured after that. Nothing is put into the zoo unless it is
certified, at 0.01 for families without noise and at 0.1 for the others, and no larger
than 3 MB, or 4 MB if it reads pictures. A rule with an exact posterior, as `icpe rule`
makes it, has no weights to round.
"""

import argparse
import dataclasses
import sys
import tempfile
from pathlib import Path

from icpe import zoo
from icpe.artifact import Artifact
from icpe.artifact.saved_rule import SavedRule
from icpe.cli.runtime import keep_compiled_programs
from icpe.cli.terminal import progress_meter
from icpe.core.errors import IcpeError, UnsupportedError
from icpe.core.family import AbstractTaskFamily
from icpe.evaluate.calibrate import calibrate
from icpe.evaluate.certify import certify
from icpe.explorers.neural.shipping import as_shipped
from icpe.families.registry import family_name, parameter_fields
from icpe.learn.config import TrainConfig
from icpe.learn.recipe import preset

LARGEST_SIZE = 3_000_000
LARGEST_SIZE_OF_PICTURES = 4_000_000
NOISELESS = ("binary-search", "deterministic-bandit", "magic-chain", "magic-room")


def ship(
    artifact: Artifact,
    name: str,
    *,
    error_prob: float | None = None,
    calibration_episodes: int = 4096,
    folder: Path | None = None,
) -> Artifact:
    """Prepares an explorer and writes it to the folder of the zoo.

    Raises:
        UnsupportedError: it could not be certified, or is too large.
    """
    family = artifact.family
    if error_prob is None:
        error_prob = 0.01 if family_name(family) in NOISELESS else 0.1
    is_rule = isinstance(artifact.nets, SavedRule)
    made = {**artifact.provenance, "command": training_command(artifact)}
    if is_rule:
        made["seconds"] = 0.0  # of training
    artifact = dataclasses.replace(
        artifact,
        nets=artifact.nets if is_rule else as_shipped(artifact.universal_nets),
        provenance=made,
        certificates=(),
    )
    table = calibrate(
        artifact, episodes=calibration_episodes, progress=progress_meter()
    )
    artifact = dataclasses.replace(artifact, table=table)
    certificate = certify(artifact, error_prob=error_prob, progress=progress_meter())
    if not certificate.certified:
        right = certificate.bound_successes / certificate.episodes
        raise UnsupportedError(
            f"{name} is not certified at error_prob {error_prob:g}: its accuracy at "
            f"price {certificate.price:.4g} is {right:.4f}; train it longer."
        )
    artifact = artifact.with_certificate(certificate)
    _save(artifact, (folder or zoo.folder()) / f"{name}{zoo.SUFFIX}")
    return artifact


def training_command(artifact: Artifact) -> str:
    """The command that trains an explorer like this one, as things are now."""
    family = artifact.family
    if isinstance(artifact.nets, SavedRule):
        words = ["icpe rule", family_name(family), *_family_options(family)]
        return " ".join([*words, f"--score {artifact.nets.score} --out FILE"])
    # An option that is younger than the explorer was left at its default.
    training = {**dataclasses.asdict(TrainConfig()), **artifact.training}
    words = ["icpe train", family_name(family), *_family_options(family)]
    candidates = {kind: dataclasses.asdict(preset(kind, family)) for kind in _PRESETS}
    changes = {
        kind: {
            key: value
            for key, value in training.items()
            if key != "seed" and key in settings and settings[key] != value
        }
        for kind, settings in candidates.items()
    }
    kind = min(changes, key=lambda kind: len(changes[kind]))
    words.append(f"--preset {kind}")
    words += [_option("--train", key, value) for key, value in changes[kind].items()]
    if training.get("seed"):
        words.append(f"--seed {training['seed']}")
    return " ".join([*words, "--out FILE"])


def _family_options(family: AbstractTaskFamily) -> list[str]:
    """The parameters that are not at their defaults.

    Whatever images it is measured on, it was trained on those for training.
    """
    return [
        _option("--family", field.name, getattr(family, field.name))
        for field in parameter_fields(family_name(family)).values()
        if getattr(family, field.name) != field.default and field.name != "split"
    ]


_PRESETS = ("cpu", "gpu")


def _option(prefix: str, name: str, value) -> str:
    return f"{prefix}.{name.replace('_', '-')} {value}"


def _save(artifact: Artifact, path: Path) -> None:
    """Writes the file where it belongs once it is known to be small enough."""
    with tempfile.TemporaryDirectory() as scratch:
        trial = Path(scratch) / path.name
        artifact.save(trial)
        size = trial.stat().st_size
    pictures = bool(artifact.family.spec.query_grid)
    largest = LARGEST_SIZE_OF_PICTURES if pictures else LARGEST_SIZE
    if size > largest:
        raise UnsupportedError(
            f"{path.stem} takes {size} bytes, more than the {largest} allowed in "
            "the zoo; train smaller networks (--train.width, --train.num-layers)."
        )
    artifact.save(path)


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description="Put a trained explorer into the zoo.")
    parser.add_argument("file", type=Path)
    parser.add_argument("name")
    parser.add_argument("--error-prob", type=float)
    parser.add_argument("--calibration-episodes", type=int, default=4096)
    args = parser.parse_args()
    keep_compiled_programs()
    try:
        artifact = ship(
            Artifact.load(args.file),
            args.name,
            error_prob=args.error_prob,
            calibration_episodes=args.calibration_episodes,
        )
    except IcpeError as error:
        print(f"ship: {error}", file=sys.stderr)
        return 1
    certificate = artifact.certificates[-1]
    print(
        f"{args.name}: certified at error_prob {certificate['error_prob']:g}, accuracy "
        f"at least {certificate['lower_bound']:.4f} with "
        f"{certificate['mean_queries']:.3f} queries on average"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
