"""A file of nearly the same name, for complaints about one that is not there."""

import difflib
from pathlib import Path

_CUTOFF = 0.8


def similar_file(path: Path, suffix: str | None = None) -> Path | None:
    """The file in the same folder whose name is nearest, None if none is near.

    Args:
        path: what was given.
        suffix: of the files that count; all if None. It may have been left out.
    """
    try:
        files = [it for it in path.parent.iterdir() if it.is_file()]
    except OSError:
        return None
    names = [it.name for it in files if suffix in (None, it.suffix)]
    if suffix is not None and f"{path.name}{suffix}" in names:
        return path.with_name(f"{path.name}{suffix}")
    found = difflib.get_close_matches(path.name, names, n=1, cutoff=_CUTOFF)
    return path.with_name(found[0]) if found else None
