"""Explorers that come with icpe: trained, certified, and ready to play by name."""

from icpe.zoo.cards import Card as Card
from icpe.zoo.cards import card as card
from icpe.zoo.shelf import SUFFIX as SUFFIX
from icpe.zoo.shelf import folder as folder
from icpe.zoo.shelf import load as load
from icpe.zoo.shelf import names as names
from icpe.zoo.shelf import path as path
