"""From results to what people read: tables, figures, a page for each study, one of all.

Everything is made anew from the JSON files of the cells; nothing is typed.
"""

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from icpe.core.files import replacing
from icpe.evaluate.plots import save_figure
from icpe.studies.study import Results, Study
from icpe.studies.tables import ABSENT, MISSED, NOT_RUN, Table

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto;
  padding: 0 1rem; color: #222; }
h1 { font-weight: 600; } img { max-width: 100%; height: auto; }
table { border-collapse: collapse; margin: 1.2rem 0; display: block;
  overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: right; }
th:first-child, td:first-child { text-align: left; } th { color: #444; }
.missed { color: #D55E00; font-weight: 600; } .quiet { color: #999; }
"""


def write_report(study: Study, results: Results, folder: Path) -> list[Path]:
    """Writes tables (Markdown, CSV), figures (SVG, PNG) and an HTML page.

    Args:
        study: the study.
        results: what has been measured of it.
        folder: where the files go; made if need be.

    Returns:
        The files, the page first.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tables = [*study.tables(results), cell_table(results)]
    figures = study.figures(results)
    files = []
    for name, figure in figures.items():
        for suffix in (".svg", ".png"):
            path = folder / f"{name}{suffix}"
            save_figure(figure, path)
            files.append(path)
    for table in tables:
        files.append(_write(folder / f"{table.name}.csv", table.csv()))
    page = folder / f"{study.name}.html"
    files.append(_write(folder / f"{study.name}.md", _markdown(study, results, "")))
    _write(page, _html(study, results, tables, list(figures)))
    return [page, *files]


def write_figures(study: Study, results: Results, folder: Path) -> list[Path]:
    """Writes the figures alone, as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, figure in study.figures(results).items():
        paths.append(folder / f"{name}.svg")
        save_figure(figure, paths[-1])
    return paths


def results_page(studies: Sequence[Study], data: Path, figures: str) -> str:
    """The page of all studies as Markdown.

    Args:
        studies: the studies, in order.
        data: folder of their results.
        figures: where the page finds the figures, as it links to them; a figure is
            shown if its study has results to draw.
    """
    parts = [
        "# Results",
        "<!-- Made by `make results` from docs/data/results; not to be edited. -->",
        "Every cell of every [study](studies.md), with what the paper prints, what "
        "is aimed at, and the limit where one is known. Intervals are 95 %: of one "
        "measurement over its episodes, of several training seeds by Student's t over "
        "the seeds. A cell that has no result yet says so, and `icpe study run NAME "
        "--also docs/data/results` runs it.",
    ]
    overview = [("study", "cells", "run", "targets missed")]
    sections = []
    for study in studies:
        results = study.results(data)
        missed = sum(
            MISSED in entry
            for table in study.tables(results)
            for row in table.rows
            for entry in row
        )
        total, run = len(results.cells), len(results.records)
        link = f"[{study.title}](#{study.name})"
        overview.append((link, str(total), str(run), str(missed)))
        sections.append(_markdown(study, results, figures))
    rules = ("---", "---:", "---:", "---:")
    lines = [overview[0], rules, *overview[1:]]
    parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    return "\n\n".join([*parts, *sections]) + "\n"


def cell_table(results: Results) -> Table:
    """Every cell: when, where and for how long it was run, and what was trained."""
    rows = []
    for cell in results.cells:
        record = results.records.get(cell.name)
        if record is None:
            rows.append((cell.name, NOT_RUN, "", "", "", ""))
            continue
        rows.append(
            (
                cell.name,
                record["date"][:10],
                record["device"],
                f"{record['seconds']:.1f}",
                f"{record['icpe']}, jax {record['jax']}",
                _training(record["result"].get("trained")),
            )
        )
    headings = ("cell", "date", "device", "seconds", "versions", "trained")
    return Table("cells", "All cells", headings, tuple(rows))


def _training(trained: Mapping[str, Any] | None) -> str:
    if not trained or "iterations" not in trained:
        return ABSENT
    return f"{trained['iterations']:,} iterations, {trained['device']}"


def _markdown(study: Study, results: Results, figures: str) -> str:
    run = len(results.records)
    parts = [f'<a id="{study.name}"></a>', f"## {study.title}", study.summary]
    parts.append(f"{run} of {len(results.cells)} cells have been run.")
    if results.remark:
        parts.append(results.remark)
    for name in study.figures(results) if _can_draw() else ():
        parts.append(f"![{study.title}]({figures}{name}.svg)")
    parts += [table.markdown() for table in study.tables(results)]
    cells = cell_table(results).markdown().split("\n\n", 1)[1]
    parts.append(f"<details><summary>All cells</summary>\n\n{cells}\n\n</details>")
    return "\n\n".join(parts)


def _can_draw() -> bool:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def _html(
    study: Study, results: Results, tables: Sequence[Table], figures: Sequence[str]
) -> str:
    images = "".join(
        f'<p><img src="{name}.svg" alt="{html.escape(study.title)}"></p>'
        for name in figures
    )
    run = f"{len(results.records)} of {len(results.cells)} cells have been run."
    remark = f"<p>{html.escape(results.remark)}</p>" if results.remark else ""
    return (
        "<!doctype html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{study.title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>{html.escape(study.title)}</h1>"
        f"<p>{html.escape(study.summary)}</p><p>{run}</p>{remark}{images}"
        f"{''.join(table.html() for table in tables)}</body></html>\n"
    )


def _write(path: Path, text: str) -> Path:
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path
