"""The paper's setting on pictures: a frozen classifier, and who is rewarded by it."""

from icpe.learn.pictures.classifier import ClassifierConfig as ClassifierConfig
from icpe.learn.pictures.classifier import fit_classifier as fit_classifier
from icpe.learn.pictures.confidence import ConfidenceConfig as ConfidenceConfig
from icpe.learn.pictures.confidence import fit_confidence as fit_confidence
