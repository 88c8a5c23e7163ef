"""A Bayesian network as a family: which state does its target have?"""

from icpe.families.network.law import Network as Network
from icpe.families.network.reading import from_network as from_network
