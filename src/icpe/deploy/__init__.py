"""Use one explorer in the real world."""

from icpe.deploy.session import Session as Session
from icpe.deploy.session import Told as Told
