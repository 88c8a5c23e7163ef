"""How good an explorer is: measured, with intervals, beside the known limits."""

from typing import TYPE_CHECKING

from icpe.artifact.serving import Contender as Contender
from icpe.core.lazy import submodules_of
from icpe.core.request import Request as Request
from icpe.evaluate.benchmark import evaluate as evaluate
from icpe.evaluate.benchmark import sweep as sweep
from icpe.evaluate.metrics import Tally as Tally
from icpe.evaluate.plots import comparison_figure as comparison_figure
from icpe.evaluate.plots import save_figure as save_figure
from icpe.evaluate.report import Report as Report

if not TYPE_CHECKING:
    __getattr__ = submodules_of(__name__)
