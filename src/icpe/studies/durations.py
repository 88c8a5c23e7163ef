"""Times as people write them."""

import re

from icpe.core.errors import InvalidParameterError

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


def parse_duration(text: str) -> float:
    """Seconds in 90, 90s, 9m or 1h; "inf" is no limit.

    Raises:
        InvalidParameterError: it is something else, or nothing.
    """
    if text == "inf":
        return float("inf")
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if match is None or float(match[1]) == 0:
        raise InvalidParameterError(
            f"--time-limit must be a time such as 90, 90s, 9m or 1h; got {text!r}."
        )
    return float(match[1]) * _SECONDS[match[2]]
