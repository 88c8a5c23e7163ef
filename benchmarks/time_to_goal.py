"""How long from a command to the first judged explorer, and to a goal, by the clock.

    python benchmarks/time_to_goal.py OUT.json [--goal search] [--seconds 120]

trains in processes of their own, first with an empty cache of compiled programs and
then again with what that left, with the recipe of this machine and nothing chosen. Time
counts from the start of the process; imports, the survey of the family, compiling and
all judging are in it. The paper's learner, with Transformers of the same size, then
does the same. Run it alone.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BEGAN = "ICPE_BEGAN"


def main(arguments: argparse.Namespace) -> None:
    """Both runs, written as they come."""
    record = {"goal": arguments.goal}
    with tempfile.TemporaryDirectory() as cache:
        for state in ("empty", "warm"):
            record[state] = _in_a_process(arguments, cache)
            arguments.out.write_text(json.dumps(record, indent=1) + "\n")
            print(state, json.dumps(record[state]), flush=True)


def _in_a_process(arguments: argparse.Namespace, cache: str) -> dict:
    with tempfile.NamedTemporaryFile() as found:
        words = [found.name, "--goal", arguments.goal, "--here"]
        words += ["--seconds", str(arguments.seconds)]
        environment = {**os.environ, "XDG_CACHE_HOME": cache, BEGAN: str(time.time())}
        command = [sys.executable, __file__, *words]
        subprocess.run(command, check=True, env=environment)
        return json.loads(Path(found.name).read_text())


def measure(name: str, seconds: float) -> dict:
    """One run of each learner, in this process."""
    import jax

    from icpe.artifact import provenance
    from icpe.cli.runtime import keep_compiled_programs
    from icpe.families import BinarySearch, GaussianBandit
    from icpe.learn.recipe import preset
    from icpe.studies.race import Goal, paper_racer
    from icpe.workflow import Judging

    keep_compiled_programs()
    goals = {
        "bandit": Goal(GaussianBandit(num_arms=4, horizon=64), 0.91, 6.3),
        "search": Goal(BinarySearch(8), 0.9999, 1.01 * 2.125),
    }
    goal = goals[name]
    machine = "cpu" if jax.default_backend() == "cpu" else "gpu"
    ours = preset(machine, goal.family)
    began = float(os.environ[BEGAN])
    judging = Judging(goal.family, ours, ends_early=False)
    found = {
        "ours": _run(goal, ours, began, seconds, judging),
        **provenance(),
        "device": jax.devices()[0].device_kind,
    }
    config = paper_racer(goal, machine, ours)
    return found | {"paper": _run(goal, config, time.time(), seconds, None)}


def _run(goal, config, began: float, seconds: float, judging) -> dict:
    from icpe.learn.fit import FitOptions, fit
    from icpe.studies.race import GoalJudge

    reaching, found = GoalJudge(goal, config), {}

    def judge(at, nets):
        if judging is not None and "first_judged" not in found:
            judging(at, nets)
            found["first_judged"] = time.time() - began
        verdict = reaching(at, nets)
        found["seconds"] = time.time() - began
        return verdict

    left = seconds - (time.time() - began)
    result = fit(goal.family, config, FitOptions(time_limit=left), judge=judge)
    return found | {
        "reached": reaching.reached,
        "iterations": result.iterations,
        "accuracy": reaching.accuracy,
        "mean_queries": reaching.mean_queries,
    }


def parse() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--goal", choices=("bandit", "search"), default="bandit")
    parser.add_argument("--seconds", type=float, default=120.0, help="of each learner")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    asked = parse()
    if asked.here:
        asked.out.write_text(json.dumps(measure(asked.goal, asked.seconds)))
    else:
        main(asked)
