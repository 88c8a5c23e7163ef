"""The `icpe` command: a table of commands, and what happens to errors.

One module per command, `icpe.cli.<name>`, imported when it is called. A command
module has a frozen dataclass `Args`, which tyro fills, and `run(args) -> int`, the
exit status. To add a command, write the module and add a row to `COMMANDS`.
"""

import importlib
import importlib.metadata
import os
import sys
import traceback
from collections.abc import Sequence

from icpe.cli.anywhere import take_anywhere
from icpe.core.errors import IcpeError, UnknownNameError, did_you_mean

COMMANDS = {
    "demo": "see the main job done, step by step",
    "tasks": "list the families of tasks and their parameters",
    "baselines": "list the classical explorers and the families they serve",
    "zoo": "list the trained explorers that come with icpe",
    "bounds": "print what is known about the optimum of a family",
    "ids": "show where information-directed sampling falls short",
    "train": "train an explorer for a family",
    "show": "print what is known about a trained explorer",
    "calibrate": "measure again what a trained explorer does at each price and budget",
    "certify": "show by tests how rarely a trained explorer errs",
    "evaluate": "measure accuracy and number of queries of explorers",
    "compare": "compare the costs of explorers at equal accuracy",
    "regret": "measure what explorers lose against the best arm while they pull",
    "play": "watch one episode, or answer the queries yourself",
    "study": "run the experiments of the paper, and report what they gave",
    "bench": "time the learner and a session on this machine",
}

BAD_INPUT = 2
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: the words after `icpe`; those of the process if None.

    Returns:
        The exit status: 0, 1 for a result that is a "no" or an internal error, 2 for
        bad input, 130 when interrupted.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    try:
        return _dispatch(take_anywhere(words))
    except KeyboardInterrupt:
        _complain("Interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough; keep the interpreter from flushing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except IcpeError as error:
        return _explain(error, str(error), BAD_INPUT, debug)
    except OSError as error:
        return _explain(error, f"{error}.", BAD_INPUT, debug)
    except Exception as error:
        sentence = (
            f"This is a bug: {type(error).__name__}: {error}; run the command again "
            "with --debug and report what it prints."
        )
        return _explain(error, sentence, 1, debug)


def _dispatch(words: list[str]) -> int:
    match words:
        case [] | ["-h" | "--help", *_]:
            print(_overview())
            return 0
        case ["--version", *_]:
            print(f"icpe {importlib.metadata.version('icpe')}")
            return 0
        case [command, *rest] if command in COMMANDS:
            from icpe.cli.parsing import parse

            module = importlib.import_module(f"icpe.cli.{command}")
            args = parse(module.Args, rest, prog=f"icpe {command}")
            if args is not None:
                return module.run(args)
            if hasattr(module, "more_help"):
                module.more_help(rest)
            return 0
    raise UnknownNameError(
        f"There is no command {words[0]!r}; the commands are {', '.join(COMMANDS)}."
        + did_you_mean(words[0], COMMANDS)
    )


def _overview() -> str:
    width = max(map(len, COMMANDS))
    rows = [f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [
            "icpe learns to ask the right questions.",
            "",
            "usage: icpe COMMAND [OPTIONS]",
            "",
            *rows,
            "",
            "icpe COMMAND --help describes one; icpe --version prints the version.",
            "With every command: --import MODULE brings in families of your own from",
            "MODULE.py in the current folder, --data FOLDER says which folder holds",
            "mnist/, and --debug shows the traceback of an error.",
        ]
    )


def _explain(error: Exception, sentence: str, status: int, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    _complain(" ".join(sentence.split()))
    return status


def _complain(sentence: str) -> None:
    print(f"icpe: {sentence}", file=sys.stderr)
