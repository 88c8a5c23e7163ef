"""Files that parse but cannot be: one sentence, soon, and in little memory.

Values of the document are replaced by ones that cannot be, under a seal that fits:
what another program, or a careless one, could have written.
"""

import copy
import itertools
import json
import random
import resource
import time

from icpe.artifact import Artifact
from icpe.artifact.trees import read_stored, save_tree
from icpe.core.errors import IcpeError
from support.certificates import unearned_certificate
from support.toy_artifacts import guesser

NUM_LEAVES = 300
MOST_SECONDS = 5.0
MOST_KILOBYTES = 2**20
POISONS = (
    float("nan"),
    float("inf"),
    -float("inf"),
    -1,
    0,
    10**20,
    10**400,
    20_000,
    5_000_000,
    1e-320,
    1e308,
    True,
    None,
    "",
    "[bold red]x[/][/]",
    "\x1b[2J\x1b]0;title\x07\u202e",
    "x" * 100_000,
    [],
    [[1, 2], [3]],
    {},
    {"a": {"b": [None]}},
)


def leaves(value, path=()):
    """The places of all values in a document, objects and lists included."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (*path, name)
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield (*path, index)
            yield from leaves(inner, (*path, index))


def poison(document, place, value):
    for step in place[:-1]:
        document = document[step]
    document[place[-1]] = copy.deepcopy(value)


def poisoned_places(document, draw):
    """Leaves of every part alike, whatever its size."""
    parts = {}
    for place in leaves(document):
        parts.setdefault(place[0], []).append(place)
    for name in itertools.cycle(parts):
        yield draw.choice(parts[name])


def test_poisoned_leaves_are_answered_in_one_sentence(tmp_path, icpe):
    """By show, by loading, and by evaluating what loads."""
    path = tmp_path / "explorer.safetensors"
    named = unearned_certificate(weights=guesser().weights_hash)
    guesser().with_certificate(named).save(path)
    stored = read_stored(path)
    document = json.loads(json.dumps(stored.document))
    draw = random.Random(2)
    places = poisoned_places(document, draw)
    evaluated = set()
    Artifact.load(path)  # compiles
    for _ in range(NUM_LEAVES):
        place, value = next(places), draw.choice(POISONS)
        poisoned = copy.deepcopy(document)
        poison(poisoned, place, value)
        save_tree(path, {}, poisoned, stored.arrays)
        begin = time.process_time()
        called = icpe(f"show {path}")
        about = (place, value, called.err[:300])
        assert called.status in (0, 2) and "bug" not in called.err, about
        assert "\x1b" not in called.out + called.err, about
        assert called.err.count("\n") <= 1, about
        assert icpe(f"show {path} --json").status == called.status, about
        try:
            Artifact.load(path).serve(error_prob=0.6)
        except IcpeError as error:
            assert "\n" not in str(error), about
        else:
            if place[0] not in evaluated:
                evaluated.add(place[0])
                words = f"evaluate {path} --error-prob 0.6 --episodes 4"
                assert icpe(words).status == 0, about
        assert time.process_time() - begin < MOST_SECONDS, about
    assert len(evaluated) >= 3
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert used < 4 * MOST_KILOBYTES  # the tests of this process before this one too
