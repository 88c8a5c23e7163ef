"""A trial in a process of its own: files that parse but cannot be.

    python -m support.poisoned_leaves FILE

Values of the document of FILE are replaced by ones that cannot be, under a seal that
fits: what another program, or a careless one, could have written. Prints what came of
it as JSON.
"""

import contextlib
import copy
import io
import itertools
import json
import random
import resource
import sys
import time
from pathlib import Path

from icpe.artifact import Artifact
from icpe.artifact.sealed import read_stored
from icpe.artifact.trees import save_tree
from icpe.cli.main import main
from icpe.core.errors import IcpeError

NUM_LEAVES = 300
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


def call(words):
    """Status, output and complaint of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words.split())
    return status, out.getvalue(), err.getvalue()


def try_one(path, evaluates):
    """What goes wrong with one file, if anything; None if it is refused or used."""
    status, out, err = call(f"show {path}")
    if status not in (0, 2) or "bug" in err or err.count("\n") > 1:
        return f"show: {status} {err[:300]}"
    if "\x1b" in out + err:
        return "show: an escape reaches the terminal"
    if call(f"show {path} --json")[0] != status:
        return "show --json ends otherwise"
    try:
        Artifact.load(path).serve(error_prob=0.6)
    except IcpeError as error:
        return "load: more than one sentence" if "\n" in str(error) else None
    if evaluates():
        status, _, err = call(f"evaluate {path} --error-prob 0.6 --episodes 4")
        if status:
            return f"evaluate: {status} {err[:300]}"
    return None


def trial(path, seed=2):
    """Poisons leaves one after the other."""
    stored = read_stored(path)
    document = json.loads(json.dumps(stored.document))
    draw = random.Random(seed)
    places = poisoned_places(document, draw)
    Artifact.load(path)  # compiles
    evaluated, problems, slowest = set(), [], 0.0
    for _ in range(NUM_LEAVES):
        place, value = next(places), draw.choice(POISONS)
        poisoned = copy.deepcopy(document)
        poison(poisoned, place, value)
        save_tree(path, {}, poisoned, stored.arrays)

        def evaluates(part=place[0]):
            fresh = part not in evaluated
            evaluated.add(part)
            return fresh

        begin = time.process_time()
        problem = try_one(path, evaluates)
        slowest = max(slowest, time.process_time() - begin)
        if problem is not None:
            problems.append([list(map(str, place)), repr(value)[:40], problem])
    return {
        "problems": problems,
        "evaluated": sorted(evaluated),
        "slowest": slowest,
        "kilobytes": most_memory(),
    }


def most_memory():
    """Kilobytes at the peak; `ru_maxrss` would count the parent's at the fork too."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    (line,) = (it for it in status.read_text().splitlines() if it[:6] == "VmHWM:")
    return int(line.split()[1])


if __name__ == "__main__":
    print(json.dumps(trial(Path(sys.argv[1]))))
