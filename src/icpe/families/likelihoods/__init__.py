"""A table of probabilities as a family: hypotheses, queries and their outcomes."""

from icpe.families.likelihoods.law import Likelihoods as Likelihoods
from icpe.families.likelihoods.reading import from_likelihoods as from_likelihoods
