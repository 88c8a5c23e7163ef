"""`icpe evaluate --rows`: an explorer made from a table, on rows it has never seen."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from icpe.cli.explorers import Cast
    from icpe.core.request import Request
    from icpe.evaluate import Report
    from icpe.integrations.tables.new_rows import NewRows


def check_new_rows(rows: Path, explorers: Sequence[str], plot: Path | None) -> None:
    """Complains before anything loads.

    Raises:
        InvalidParameterError: options that do not go together.
        DataError: the file cannot be read.
    """
    from icpe.cli.data_files import check_data_file
    from icpe.core.errors import InvalidParameterError

    if len(explorers) > 1:
        raise InvalidParameterError(
            f"--rows is for one explorer, made from a table; got {len(explorers)}."
        )
    if plot is not None:
        raise InvalidParameterError(
            "--rows and --plot cannot be combined; leave one of them out."
        )
    check_data_file(rows)


def read_rows_for(cast: "Cast", rows: Path, target: str | None) -> "NewRows":
    """The rows as cases of the table that the explorer was made from.

    Raises:
        UnsupportedError: it was made from something else.
        DataError: the rows are not like that table.
    """
    from icpe.cli.terminal import warnings_said
    from icpe.integrations.tables.new_rows import read_new_rows, table_of, target_column

    (explorer,) = cast.explorers.values()
    table = table_of(cast.family)
    made: dict[str, Any] = getattr(explorer, "training", {})
    with warnings_said():
        column = target_column(made.get("target"), target)
        return read_new_rows(rows, column, table)


def say_which_rows(
    console,
    cast: "Cast",
    request: "Request",
    reports: Sequence["Report"],
    new: "NewRows | None",
) -> None:
    """What the rows were, and whether they speak against what was promised."""
    if new is None:
        if cast.family.held_out_cases() is not None:
            _say(
                console,
                "These are the rows or images that were put aside for certificates, "
                "so a certificate and this are the same evidence. Rows of a new file: "
                "--rows TABLE.csv",
            )
        return
    (report,) = reports
    classes = ", ".join(
        f"{group.name} {group.successes} of {group.episodes}"
        for group in _by_class(cast, request, report.seed, new)
    )
    _say(console, f"Right by class: {classes}.")
    if new.strange:
        rows = "1 row is" if new.strange == 1 else f"{new.strange} rows are"
        where = ", ".join(f"{name} ({n})" for name, n in new.strange_in.items())
        _say(
            console,
            f"{rows} unlike all rows of the table, in {where}: a session that asks for "
            "it loses its certificate. They count here.",
        )
    if request.error_prob is not None:
        _say(console, _verdict(report, request.error_prob))


def _verdict(report: "Report", error_prob: float) -> str:
    least, most = (1.0 - it for it in reversed(report.accuracy_interval))
    found = f"By these rows alone the error probability is {least:.3f} to {most:.3f}"
    if least > error_prob:
        return (
            f"{found} with confidence 95 %: more than {error_prob:g}. So these rows "
            "are not like those of the table, or its promise failed."
        )
    if most <= error_prob:
        return f"{found} with confidence 95 %: at most {error_prob:g}, as asked for."
    return (
        f"{found} with confidence 95 %. That does not contradict {error_prob:g}; so "
        "few rows do not show it by themselves."
    )


def _by_class(cast: "Cast", request: "Request", seed: int, new: "NewRows"):
    import jax.random as jr

    from icpe.artifact.serving import serve
    from icpe.evaluate.groups import by_hypothesis
    from icpe.play.rollout import run_cases

    (explorer,) = cast.explorers.values()
    player = serve(explorer, request, cast.family)
    point, key = player.operating_point, jr.key(seed)
    ending = run_cases(player.explorer, cast.family, point, new.cases, key=key)
    return by_hypothesis(cast.family, ending)


def _say(console, sentence: str) -> None:
    console.print(sentence, soft_wrap=True, highlight=False, markup=False)
