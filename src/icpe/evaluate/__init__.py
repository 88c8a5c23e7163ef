"""How good an explorer is: measured, with intervals, beside the known limits."""

from icpe.artifact.serving import Contender as Contender
from icpe.core.request import Request as Request
from icpe.evaluate.benchmark import evaluate as evaluate
from icpe.evaluate.benchmark import sweep as sweep
from icpe.evaluate.metrics import Tally as Tally
from icpe.evaluate.plots import comparison_figure as comparison_figure
from icpe.evaluate.plots import save_figure as save_figure
from icpe.evaluate.report import Report as Report
