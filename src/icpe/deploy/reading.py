"""What a user tells a session, checked and made into arrays.

A session without the rest of icpe reads queries, outcomes, masks and units in the same
way, so that is written there.
"""

from icpe.portable.reading import read_first_outcome as read_first_outcome
from icpe.portable.reading import read_mask as read_mask
from icpe.portable.reading import read_outcome as read_outcome
from icpe.portable.reading import read_query as read_query
from icpe.portable.units import read_units as read_units
