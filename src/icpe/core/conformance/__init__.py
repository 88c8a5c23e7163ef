"""Whether a family keeps its contract, said in one sentence."""

from icpe.core.conformance.family import check_family as check_family
from icpe.core.conformance.family import check_is_family as check_is_family
from icpe.core.conformance.family import explaining as explaining
