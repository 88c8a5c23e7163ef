"""Use one explorer in the real world."""

from icpe.deploy.durable import DurableSession as DurableSession
from icpe.deploy.durable import open_session as open_session
from icpe.deploy.session import Session as Session
from icpe.deploy.session_state import Answer as Answer
