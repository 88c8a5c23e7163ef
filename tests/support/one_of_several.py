"""One of several processes that train a toy together: `python -m` with one JSON word.

The word holds `coordinator`, `num_processes` and `process_id` (none of them for a
process alone), `out` (the stem of its files), `config` (changes of the configuration),
`resume`, and `pause`, seconds that are slept after every iteration.
"""

import json
import sys
import time
from pathlib import Path

from icpe.core.distributed import Processes, joined
from icpe.core.errors import IcpeError
from icpe.learn.config import TrainConfig

CONFIG = {
    "num_iterations": 20,
    "batch_size": 8,
    "minibatch_size": 8,
    "updates_per_iteration": 2,
    "replay_size": 64,
    "warmup_iterations": 20,
    "width": 4,
    "num_layers": 1,
    "num_heads": 1,
    "log_every": 1,
}
"""Of a training that is warm-up alone: what is played does not depend on networks."""


def main(asked: dict) -> None:
    """Trains."""
    processes = None
    if "coordinator" in asked:
        names = ("coordinator", "num_processes", "process_id")
        processes = Processes(*(asked[name] for name in names), timeout=240)
    with joined(processes):
        from icpe.learn.fit import FitOptions, fit
        from support.brief_surveys import make_brief
        from support.toy_tasks import TwoDoors

        make_brief()
        stem = Path(asked["out"])
        options = FitOptions(
            checkpoint=stem.with_suffix(".checkpoint"),
            checkpoint_seconds=0.0,
            resume=asked.get("resume", False),
            metrics=stem.with_suffix(".jsonl"),
        )
        config = TrainConfig(**CONFIG | asked.get("config", {}))
        fit(
            TwoDoors(horizon=3),
            config,
            options,
            judge=lambda *_: time.sleep(asked.get("pause", 0.0)),
        )


if __name__ == "__main__":
    import os

    try:
        main(json.loads(sys.argv[1]))
    except IcpeError as error:
        print(f"icpe: {error}", file=sys.stderr, flush=True)
        os._exit(2)
