"""What is known in the middle of a magic chain, and what a pull can change.

Arm 0 is the first of `num_magic` magic arms; each names the next, the last names the
best of the other, regular arms. The order is uniformly random. A name does not say
whether it is of a magic arm, so knowledge is a set of fragments of the chain. All that
matters of it, by symmetry, are the lengths of the fragments and how many regular arms
were seen. Configurations are counted, not listed: the arms that follow each other in
the chain, with the best arm at its end.
"""

import dataclasses
import math
from collections.abc import Iterator
from typing import NamedTuple


class Knowledge(NamedTuple):
    """What was seen so far.

    `first` is the number of pulled magic arms in the fragment that starts at arm 0
    (0: not even arm 0). `fragments` are the sorted numbers of pulled magic arms in the
    other fragments. Each fragment ends in a tip: an arm that is named but not pulled
    (arm 0 itself while `first` is 0). `seen` counts the pulled regular arms.
    """

    first: int = 0
    fragments: tuple[int, ...] = ()
    seen: int = 0


class Pull(NamedTuple):
    """What one pull leads to.

    `regular` is the knowledge after one more regular arm is seen, if that can happen.
    `magic` lists (multiplicity, knowledge) after a new link. `names_unseen` and
    `names_seen` count the configurations in which the pull settles the question, with
    a best arm that was not, or was, seen before.
    """

    regular: Knowledge | None
    magic: tuple[tuple[int, Knowledge], ...]
    names_unseen: int
    names_seen: int


class Candidates(NamedTuple):
    """Numbers of configurations by the place of the best arm.

    `unseen` and `seen` are totals, `seen` for one given seen arm; `likeliest_unseen` is
    the largest number for a single unseen arm.
    """

    unseen: int
    seen: int
    likeliest_unseen: int


@dataclasses.dataclass(frozen=True)
class ChainSize:
    """The size of the problem: `num_arms` arms, of which `num_magic` are magic."""

    num_arms: int
    num_magic: int

    @property
    def num_regular(self) -> int:
        """How many arms may be the best."""
        return self.num_arms - self.num_magic

    def candidates(self, known: Knowledge) -> Candidates:
        """Counts the configurations that agree with what is known."""
        num_blocks, singles, fresh = self._parts(known)
        unseen = _orders(num_blocks, singles, fresh)
        seen = _orders(num_blocks, singles - 1, fresh) if known.seen else 0
        ends = [0]
        if num_blocks:
            ends.append(_orders(num_blocks - 1, singles, fresh))
        if not num_blocks and not singles:
            ends.append(unseen)
        if fresh:
            ends.append(_orders(num_blocks, singles - 1, fresh - 1))
        return Candidates(unseen, seen, max(ends))

    def pulls(self, known: Knowledge) -> Iterator[Pull]:
        """All pulls that can teach something, one of each kind."""
        num_blocks, singles, fresh = self._parts(known)
        first, fragments, seen = known
        if fresh:
            links = [
                (1, Knowledge(first, _with(_without(fragments, i), length + 1), seen))
                for i, length in enumerate(fragments)
            ]
            if fresh > 1:
                links.append((fresh - 1, Knowledge(first, _with(fragments, 1), seen)))
            yield Pull(
                regular=Knowledge(first, fragments, seen + 1),
                magic=tuple(links),
                names_unseen=0,
                names_seen=_orders(num_blocks, singles - 2, fresh - 1) if seen else 0,
            )
        links = [
            (1, Knowledge(first + length + 1, _without(fragments, i), seen))
            for i, length in enumerate(fragments)
        ]
        if fresh:
            links.append((fresh, Knowledge(first + 1, fragments, seen)))
        yield Pull(
            regular=None,
            magic=tuple(links),
            names_unseen=int(not num_blocks and singles == 0),
            names_seen=int(not num_blocks and singles == 1 and seen > 0),
        )
        for i, length in enumerate(fragments):
            if fragments.index(length) < i:
                continue
            rest = _without(fragments, i)
            links = [
                (
                    1,
                    Knowledge(
                        first, _with(_without(rest, j), length + other + 1), seen
                    ),
                )
                for j, other in enumerate(rest)
            ]
            if fresh:
                links.append((fresh, Knowledge(first, _with(rest, length + 1), seen)))
            yield Pull(
                regular=None,
                magic=tuple(links),
                names_unseen=_orders(num_blocks - 1, singles, fresh),
                names_seen=_orders(num_blocks - 1, singles - 1, fresh) if seen else 0,
            )

    def _parts(self, known: Knowledge) -> tuple[int, int, int]:
        """Numbers of other fragments, of single places in the chain, of fresh arms."""
        in_fragments = sum(known.fragments) + len(known.fragments)
        singles = self.num_magic - known.first - in_fragments
        fresh = self.num_arms - known.first - 1 - in_fragments - known.seen
        return len(known.fragments), singles, fresh


def _orders(num_blocks: int, singles: int, fresh: int) -> int:
    """Ways to put the blocks and `singles` of the fresh arms one after the other."""
    if singles < 0 or fresh < singles:
        return 0
    places = math.factorial(num_blocks + singles) // math.factorial(singles)
    return places * math.perm(fresh, singles)


def _without(fragments: tuple[int, ...], index: int) -> tuple[int, ...]:
    return fragments[:index] + fragments[index + 1 :]


def _with(fragments: tuple[int, ...], length: int) -> tuple[int, ...]:
    return tuple(sorted((*fragments, length)))
