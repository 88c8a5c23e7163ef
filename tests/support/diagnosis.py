"""A small diagnosis: four illnesses, six findings, and how often they occur."""

from icpe.core.family import AbstractTaskFamily
from icpe.families import from_likelihoods

ILLNESSES = ("influenza", "common cold", "hay fever", "covid-19")
_PRESENT = {
    "fever": (0.85, 0.2, 0.03, 0.6),
    "itching eyes": (0.05, 0.1, 0.85, 0.05),
    "loss of smell": (0.1, 0.2, 0.15, 0.65),
    "sudden onset": (0.85, 0.15, 0.3, 0.3),
    "sore throat": (0.5, 0.75, 0.2, 0.5),
    "rapid test": (0.02, 0.02, 0.02, 0.75),
}
_WORDS = {"rapid test": ("negative", "positive")}


def diagnosis() -> AbstractTaskFamily:
    """The family of these patients; a test costs three times as much as a question."""
    findings = tuple(_PRESENT)
    rows = [
        [(1.0 - _PRESENT[finding][i], _PRESENT[finding][i]) for finding in findings]
        for i in range(len(ILLNESSES))
    ]
    outcomes = [_WORDS.get(finding, ("no", "yes")) for finding in findings]
    return from_likelihoods(
        rows,
        costs=[3.0 if finding in _WORDS else 1.0 for finding in findings],
        names={"hypotheses": ILLNESSES, "queries": findings, "outcomes": outcomes},
    )
