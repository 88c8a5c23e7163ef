"""Use one explorer in the real world."""

from icpe.deploy.session import Answer as Answer
from icpe.deploy.session import Session as Session
