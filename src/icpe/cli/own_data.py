"""From `--likelihoods FILE` and the like to a family."""

from collections.abc import Mapping

from icpe.cli.data_files import check_source, content_limits, read_settings
from icpe.cli.options import Source
from icpe.families import (
    AbstractTaskFamily,
    from_item_bank,
    from_likelihoods,
    from_network,
)


def family_from(source: Source, settings: Mapping[str, str]) -> AbstractTaskFamily:
    """The family that data make.

    Raises:
        InvalidParameterError: options that do not go together.
        DataError: data that cannot be.
        UnknownNameError: a setting that such a family does not have.
    """
    check_source(source)
    values = read_settings(source, settings)
    if source.network is not None:
        assert source.target is not None
        return from_network(
            source.network,
            source.target,
            source.queries or None,
            source.costs,
            **values,
        )
    if source.items is not None:
        return from_item_bank(
            source.items,
            source.cuts,
            costs=source.costs,
            bands=source.bands,
            content_limits=content_limits(source),
            **values,
        )
    return from_likelihoods(source.likelihoods, costs=source.costs, **values)
