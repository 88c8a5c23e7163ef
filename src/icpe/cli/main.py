"""The `icpe` command: a table of commands, and what happens to errors.

One module per command, `icpe.cli.<name>`, imported when it is called. A command
module has a frozen dataclass `Args`, which tyro fills, and `run(args) -> int`, the
exit status. To add a command, write the module and add a row to `COMMANDS`.
"""

import contextlib
import errno
import importlib
import importlib.metadata
import os
import sys
import threading
import traceback
from collections.abc import Sequence

from icpe.cli.anywhere import take_anywhere
from icpe.cli.streams import forget_output, prepare_streams, styled
from icpe.cli.typed import remember
from icpe.core import signals
from icpe.core.errors import IcpeError, UnknownNameError, WriteError, suggesting

COMMANDS = {
    "demo": "see a session from start to finish, step by step",
    "tasks": "list the families of tasks and their parameters",
    "baselines": "list the classical explorers and the families they serve",
    "zoo": "list the trained explorers that come with icpe",
    "bounds": "print what is known about the optimum of a family",
    "ids": "show where information-directed sampling falls short",
    "new": "write a family of your own to start from",
    "train": "train an explorer for a family",
    "rule": "make an explorer from a rule with an exact belief, without training",
    "train-table": "make a questionnaire from a table of cases, with a certificate",
    "show": "print what is known about a trained explorer",
    "calibrate": "measure again what a trained explorer does at each price and budget",
    "certify": "test how often a trained explorer errs",
    "evaluate": "measure accuracy and number of queries of explorers",
    "compare": "compare the costs of explorers at equal accuracy",
    "regret": "measure regret while pulling, against the best arm",
    "play": "watch one episode, or answer the queries yourself",
    "serve": "serve sessions over HTTP",
    "token": "make, list and revoke access tokens of the service",
    "export": "write a trained explorer for places without Python",
    "sessions": "list the sessions of a storage",
    "report": "write the report of a session, as a page, JSON or CSV",
    "replay": "check the report of a session, bit for bit",
    "study": "run the experiments of the paper, and report what they gave",
    "bench": "time the learner and a session on this machine",
    "completion": "print what makes a shell complete commands, options and names",
}

APART = ("study", "ids", "regret", "bench", "completion")
"""Commands for readers of the paper, developers and shells, listed after the others."""

BAD_INPUT = 2
NOT_WRITTEN = 3
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: the words after `icpe`; those of the process if None, which then is one
            that signals and closed pipes end as they should.

    Returns:
        The exit status: 0, 1 for a result that is a "no" or an internal error, 2 for
        bad input, 3 if a file or the output could not be written, 130 when
        interrupted, 143 and 129 when ended by SIGTERM and SIGHUP.
    """
    if argv is not None or threading.current_thread() is not threading.main_thread():
        return _main(list(sys.argv[1:] if argv is None else argv))
    if "--debug" not in sys.argv:
        # XLA calls it an error that a program takes minutes to compile, as it may on a
        # busy machine. What really fails arrives as an exception.
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with signals.watching():
        prepare_streams()
        status = _main(sys.argv[1:])
        if signals.ends_at_once():
            signals.leave(status)
    return status


def _main(words: list[str]) -> int:
    debug = "--debug" in words
    remember(words)
    try:
        status = _dispatch(take_anywhere(words))
        sys.stdout.flush()  # what cannot be written is to be noticed here
        return status
    except KeyboardInterrupt:
        _complain("Interrupted.")
        return signals.exit_status()
    except BrokenPipeError:
        # Whoever read our output has enough; keep the interpreter from flushing.
        forget_output()
        return 0
    except WriteError as error:
        return _explain(error, str(error), NOT_WRITTEN, debug)
    except IcpeError as error:
        return _explain(error, str(error), BAD_INPUT, debug)
    except OSError as error:
        if error.errno in _FULL:
            forget_output()
            return _explain(error, _not_written(error), NOT_WRITTEN, debug)
        return _explain(error, _unusable(error), BAD_INPUT, debug)
    except Exception as error:
        if signals.was_interrupted():  # which somebody turned into another error
            _complain("Interrupted.")
            return signals.exit_status()
        sentence = (
            f"This is a bug: {type(error).__name__}: {error}; run the command again "
            "with --debug and report what it prints."
        )
        return _explain(error, sentence, 1, debug)


def _not_written(error: OSError) -> str:
    what = error.filename or "The output"
    return f"{what} could not be written: {error.strerror}; make room and try again."


def _unusable(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return f"{error}."
    return f"{error.filename} cannot be used: {error.strerror}."


def _dispatch(words: list[str]) -> int:
    match words:
        case [] | ["help"] | ["-h" | "--help", *_]:
            print(_overview())
            return 0
        case ["help", command, *_]:
            return _dispatch([command, "--help"])
        case ["--version" | "-V" | "version", *_]:
            print(f"icpe {importlib.metadata.version('icpe')}")
            return 0
        case [command, *rest] if command in COMMANDS:
            from icpe.cli.parsing import parse

            module = importlib.import_module(module_of(command))
            args = parse(module.Args, rest, prog=f"icpe {command}")
            if args is not None:
                return module.run(args)
            if hasattr(module, "more_help"):
                module.more_help(rest)
            examples = getattr(module, "EXAMPLES", ())
            print(_colored("examples:"), *examples, sep="\n  ")
            return 0
        case ["__complete", *rest]:
            from icpe.cli.candidates import candidates

            print(*candidates(rest, COMMANDS), sep="\n")
            return 0
    if words[0].startswith("-"):
        raise UnknownNameError(
            f"There is no option {words[0]} before a command; write icpe COMMAND "
            "OPTIONS, and icpe --help for the commands."
        )
    raise UnknownNameError(
        suggesting(
            f"There is no command {words[0]!r}",
            words[0],
            COMMANDS,
            f"the commands are {', '.join(COMMANDS)}.",
        )
    )


def module_of(command: str) -> str:
    """Where a command lives."""
    return f"icpe.cli.{command.replace('-', '_')}"


def _overview() -> str:
    width = max(map(len, COMMANDS))
    rows = {
        name: f"  {_colored(name.ljust(width), 'name')}  {summary}"
        for name, summary in COMMANDS.items()
    }
    return "\n".join(
        [
            "icpe learns to ask the right questions.",
            "",
            f"{_colored('usage:')} icpe COMMAND [OPTIONS]",
            "",
            _colored("commands:"),
            *(row for name, row in rows.items() if name not in APART),
            "",
            _colored("the paper, developers and shells:"),
            *(rows[name] for name in APART),
            "",
            _colored("with every command:"),
            "  --import MODULE        use families of your own from MODULE.py",
            "  --import FILE.py:CLASS use one of them",
            "  --data FOLDER          the folder that holds mnist/",
            "  --debug                show the traceback of an error",
            "",
            "icpe COMMAND --help describes a command; --version prints the version.",
        ]
    )


def _colored(text: str, style: str = "heading") -> str:
    return styled(text, style, sys.stdout)


def _explain(error: Exception, sentence: str, status: int, debug: bool) -> int:
    if debug:
        traceback.print_exception(error)
    _complain(" ".join(sentence.split()))
    return status


def _complain(sentence: str) -> None:
    """Says it on standard error, as far as there is one."""
    plain = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in sentence)
    with contextlib.suppress(OSError, ValueError):
        name = styled("icpe:", "error", sys.stderr)
        print(f"{name} {plain}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
