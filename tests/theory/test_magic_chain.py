import functools as ft
import itertools

import pytest

from icpe.core.errors import InvalidParameterError
from icpe.theory.magic_chain import magic_chain_bound, magic_chain_zero_error
from icpe.theory.magic_chain_knowledge import ChainSize, Knowledge


def brute_force_zero_error(num_arms, num_magic):
    """Least expected pulls until the best arm is certain, over explicit tasks.

    A task is the order of the magic arms and the best arm. A pull shows the arm that a
    magic arm names, or None for a regular arm. Once all regular arms are seen, their
    values tell the best.
    """
    tasks = [
        dict(itertools.pairwise((0, *order)))
        for order in itertools.permutations(range(1, num_arms), num_magic)
    ]
    ends = [tuple(task.values())[-1] for task in tasks]

    @ft.cache
    def remaining(possible, regular_seen):
        if len(regular_seen) == num_arms - num_magic:
            return 0
        if len({ends[i] for i in possible}) == 1:
            return 0
        totals = []
        for arm in range(num_arms):
            parts = {}
            for i in possible:
                parts.setdefault(tasks[i].get(arm), set()).add(i)
            if len(parts) == 1 and (arm in regular_seen or None not in parts):
                continue
            total = len(possible)
            for shown, part in parts.items():
                seen = regular_seen | {arm} if shown is None else regular_seen
                total += remaining(frozenset(part), seen)
            totals.append(total)
        return min(totals)

    everything = frozenset(range(len(tasks)))
    return remaining(everything, frozenset()) / len(tasks)


def reachable(chain):
    """All states of knowledge that some pulls lead to."""
    todo, found = [Knowledge()], set()
    while todo:
        known = todo.pop()
        count = chain.candidates(known)
        if known in found or not count.unseen + count.seen:
            continue
        found.add(known)
        for pull in chain.pulls(known):
            todo.extend(after for _, after in pull.magic)
            if pull.regular:
                todo.append(pull.regular)
    return found


def test_bound_has_the_values_of_the_printed_expression():
    got = [magic_chain_bound(10, num_magic) for num_magic in range(1, 10)]
    expected = [1, 2, 3, 3.476, 3.480, 3.643, 3.887, 4.139, 4.111]
    assert got == pytest.approx(expected, abs=5e-4)


def test_zero_error_optimum_of_ten_arms():
    got = [magic_chain_zero_error(10, num_magic) for num_magic in range(1, 10)]
    expected = [1, 2, 3, 3.971, 4.071, 4.292, 4.564, 4.792, 4.889]
    assert got == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("num_magic", [1, 2, 3, 4])
def test_zero_error_optimum_equals_brute_force_over_tasks(num_magic):
    got = magic_chain_zero_error(5, num_magic)
    assert got == pytest.approx(brute_force_zero_error(5, num_magic), rel=1e-12)


def test_bound_lies_below_the_optimum_once_places_matter():
    for num_magic in range(4, 10):
        bound = magic_chain_bound(10, num_magic)
        assert bound < magic_chain_zero_error(10, num_magic)


def test_outcomes_of_a_pull_split_the_configurations():
    for num_magic in (2, 4, 6):
        chain = ChainSize(8, num_magic)
        for known in reachable(chain):
            count = chain.candidates(known)
            for pull in chain.pulls(known):
                after = [(many, chain.candidates(k)) for many, k in pull.magic]
                seen = pull.names_seen + sum(many * c.seen for many, c in after)
                unseen = pull.names_unseen + sum(many * c.unseen for many, c in after)
                if pull.regular:
                    # The new regular arm was the best, or it was another one.
                    new = chain.candidates(pull.regular)
                    seen += new.seen if known.seen else 0
                    unseen += new.unseen + new.seen
                assert (unseen, seen) == (count.unseen, count.seen)


@pytest.mark.parametrize("num_magic", [0, 5])
def test_impossible_numbers_of_magic_arms_are_refused(num_magic):
    with pytest.raises(InvalidParameterError, match="num_magic must be"):
        magic_chain_bound(5, num_magic)
