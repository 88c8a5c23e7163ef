"""Explorers of pictures: who chooses the next tile, and who says what is seen."""

from icpe.explorers.pictures.choosers import AbstractChooser as AbstractChooser
from icpe.explorers.pictures.choosers import Believed as Believed
from icpe.explorers.pictures.choosers import OrderChooser as OrderChooser
from icpe.explorers.pictures.choosers import RandomChooser as RandomChooser
from icpe.explorers.pictures.choosers import ThompsonChooser as ThompsonChooser
from icpe.explorers.pictures.choosers import ValueChooser as ValueChooser
from icpe.explorers.pictures.classified import ClassifierExplorer as ClassifierExplorer
from icpe.explorers.pictures.entropy import EntropyChooser as EntropyChooser
from icpe.explorers.pictures.redirected import RedirectedExplorer as RedirectedExplorer
