"""Writes docs/results.md and its figures from docs/data/results: `make results`.

python -m icpe.studies.results [docs]
"""

import sys
from pathlib import Path

from icpe.core.files import replacing
from icpe.studies.catalog import make_study, study_names
from icpe.studies.report import results_page, write_figures

FIGURES = "figures/results/"


def page_of(docs: Path) -> str:
    """The page as it should be."""
    studies = [make_study(name) for name in study_names()]
    return results_page(studies, docs / "data" / "results", FIGURES)


def main(docs: Path) -> None:
    """Writes the page and the figures it shows."""
    for name in study_names():
        study = make_study(name)
        results = study.results(docs / "data" / "results")
        write_figures(study, results, docs / FIGURES)
    with replacing(docs / "results.md") as temporary:
        temporary.write_text(page_of(docs), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs"))
