"""Answers about the features of a table: numbers, words, or nothing at all.

A session without the rest of icpe reads them in the same way, so that is written there.
"""

from collections.abc import Sequence
from typing import Any

from icpe.core.answers import AbstractAnswers, AnswerPart
from icpe.portable.cells import MISSING as MISSING
from icpe.portable.cells import OTHER as OTHER
from icpe.portable.cells import Cells as Cells
from icpe.portable.cells import as_word as as_word
from icpe.portable.cells import is_missing as is_missing


class TableAnswers(AbstractAnswers):
    """Reads and words what is measured of a case.

    Args:
        features: the names of the features.
        levels: the words that each feature can be, none for a number; level i is the
            number i + 1.
        groups: the features that each query reveals.
        size: numbers in an outcome.
        always_known: the features that are known in every row of the table.
        units: of each feature, empty where it has none; none for all if empty.
        marks: how the numbers of each feature were written; not known if empty.
        ranges: the smallest and largest number of each feature; not known if empty.
    """

    def __init__(
        self,
        features: Sequence[str],
        levels: Sequence[Sequence[str]],
        groups: Sequence[Sequence[int]],
        size: int,
        always_known: Sequence[int] = (),
        units: Sequence[str] = (),
        marks: Sequence[str] = (),
        ranges: Sequence[Sequence[float]] = (),
    ):
        words = tuple(tuple(level) for level in levels)
        members = tuple(tuple(group) for group in groups)
        known = tuple(always_known)
        self.cells = Cells(
            tuple(features),
            words,
            members,
            size,
            known,
            tuple(units),
            tuple(marks),
            tuple(tuple(it) for it in ranges),
        )

    def read(self, query: int, answer: Any) -> tuple[float, ...]:
        return self.cells.read(query, answer)

    def hint(self, query: int) -> str:
        members = self.cells.groups[query]
        parts = [self.cells.expected(feature) for feature in members]
        if len(members) == 1:
            return f"{parts[0]}; leave it empty if it is not known"
        named = (
            f"{self.cells.features[feature]}: {part}"
            for feature, part in zip(members, parts, strict=True)
        )
        return (
            f"{'; '.join(named)}; with commas or semicolons between, empty if it is "
            "not known"
        )

    def parts(self, query: int) -> tuple[AnswerPart, ...]:
        return tuple(
            AnswerPart(
                self.cells.features[it], self.cells.levels[it], self.cells.unit(it)
            )
            for it in self.cells.groups[query]
        )

    def words(self, query: int, outcome: Any) -> str:
        members = self.cells.groups[query]
        shown = [
            self._word(feature, float(value))
            for feature, value in zip(members, outcome, strict=False)
        ]
        if len(members) == 1:
            return shown[0]
        named = zip((self.cells.features[it] for it in members), shown, strict=True)
        return ", ".join(f"{name} {word}" for name, word in named)

    def why_strange(self, query: int, outcome: Any) -> str | None:
        return self.cells.why_strange(query, outcome)

    def is_unknown(self, query: int, outcome: Any) -> bool:
        return self.cells.is_unknown(query, outcome)

    def _word(self, feature: int, value: float) -> str:
        if value <= MISSING / 2:
            return "not known"
        levels = self.cells.levels[feature]
        if levels and 1 <= round(value) <= len(levels):
            return levels[round(value) - 1]
        unit = self.cells.unit(feature)
        return f"{value:.6g} {unit}" if unit else f"{value:.6g}"
