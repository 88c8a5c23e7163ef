"""Values that differ in capitals or blanks alone are one value."""

import collections
from collections.abc import Sequence

from icpe.portable.reading import folded


def one_spelling(
    name: str, words: Sequence[str | None]
) -> tuple[list[str | None], str | None]:
    """The words, each in its most common spelling, and a sentence if that changed any.

    Args:
        name: of the column, for the sentence.
        words: its values; None where not known.
    """
    counts = collections.Counter(word for word in words if word is not None)
    spellings: dict[str, list[str]] = {}
    for word, _ in counts.most_common():
        spellings.setdefault(folded(word), []).append(word)
    several = [found for found in spellings.values() if len(found) > 1]
    if not several:
        return list(words), None
    place = {word: found[0] for found in spellings.values() for word in found}
    shown = "; ".join(" and ".join(map(repr, found)) for found in several[:3])
    more = f"; and {len(several) - 3} more" if len(several) > 3 else ""
    sentence = (
        f"Column {name!r}: {shown}{more} differ in capitals or blanks alone, and are "
        "taken as one value."
    )
    return [None if word is None else place[word] for word in words], sentence
