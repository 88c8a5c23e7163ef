"""What can be asked for is the same wherever a session is started."""

import inspect

import pytest

from icpe import Session, open_session
from icpe.core.errors import IcpeError
from icpe.service import schemas
from support.service_models import small_bandit


def arguments(function, *own: str):
    parameters = inspect.signature(function).parameters
    return {name: it.default for name, it in parameters.items() if name not in own}


def test_a_session_takes_the_same_arguments_wherever_it_is_kept():
    in_memory = arguments(Session, "explorer", "family")
    assert arguments(open_session, "artifact", "family", "storage", "id") == in_memory
    over_http = {name: it.default for name, it in schemas.Start.model_fields.items()}
    del over_http["model"]
    assert over_http == in_memory


def test_a_durable_session_is_asked_for_the_same_promise():
    asked = {"error_prob": 0.1, "promise": "belief"}
    with pytest.raises(IcpeError) as here:
        Session(small_bandit(), **asked)
    with pytest.raises(IcpeError) as there:
        open_session(small_bandit(), storage="memory://", **asked)
    assert str(here.value) == str(there.value)
