"""Exported explorers, run by numpy and onnxruntime alone.

    from icpe.portable import Session

    session = Session("arms.onnx", error_prob=0.1)
    while (query := session.ask()) is not None:
        session.tell(query, measure(query))
    print(session.recommendation, session.stop_reason.sentence)

The model comes from `icpe export FILE --to onnx OUT`; with `--runner portable.py` that
writes all of this package as one file, which needs nothing else of icpe and may be
copied to where the model is used. Sessions follow the same rules and say the same
sentences as `icpe.Session` does with the file that was exported. What both need is
written here, and the rest of icpe takes it from here: errors, reading, units.
"""

from icpe.portable.cells import Cells as Cells
from icpe.portable.episode import Spec as Spec
from icpe.portable.episode import StopReason as StopReason
from icpe.portable.errors import ArtifactError as ArtifactError
from icpe.portable.errors import IcpeError as IcpeError
from icpe.portable.errors import InvalidOutcomeError as InvalidOutcomeError
from icpe.portable.errors import InvalidParameterError as InvalidParameterError
from icpe.portable.errors import MissingExtraError as MissingExtraError
from icpe.portable.errors import OperatingPointError as OperatingPointError
from icpe.portable.errors import SessionError as SessionError
from icpe.portable.errors import UnsupportedError as UnsupportedError
from icpe.portable.files import SEAL as SEAL
from icpe.portable.files import sealed as sealed
from icpe.portable.model import FORMAT as FORMAT
from icpe.portable.model import Model as Model
from icpe.portable.requests import Certificate as Certificate
from icpe.portable.requests import OperatingPoint as OperatingPoint
from icpe.portable.requests import check_trained_price as check_trained_price
from icpe.portable.requests import out_of_reach as out_of_reach
from icpe.portable.session import Answer as Answer
from icpe.portable.session import Session as Session
from icpe.portable.units import AnyUnits as AnyUnits
from icpe.portable.units import Units as Units
