"""Explorers: whoever asks the questions, learned or classical."""

from icpe.core.explorer import AbstractExplorer as AbstractExplorer
from icpe.explorers import classical as classical
from icpe.explorers import rules as rules
from icpe.explorers import wrappers as wrappers
from icpe.explorers.registry import About as About
from icpe.explorers.registry import accepted_families as accepted_families
from icpe.explorers.registry import explorer_about as explorer_about
from icpe.explorers.registry import explorer_names as explorer_names
from icpe.explorers.registry import explorer_parameters as explorer_parameters
from icpe.explorers.registry import explorer_summary as explorer_summary
from icpe.explorers.registry import explorers_for as explorers_for
from icpe.explorers.registry import make_explorer as make_explorer
from icpe.explorers.registry import register_explorer as register_explorer
