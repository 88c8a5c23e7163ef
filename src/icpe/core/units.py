"""The user's own units: what a family's numbers are called where they are measured.

A session without the rest of icpe reads them in the same way, so that is written there.
"""

from icpe.portable.units import AnyUnits as AnyUnits
from icpe.portable.units import Measured as Measured
from icpe.portable.units import Reading as Reading
from icpe.portable.units import Units as Units
from icpe.portable.units import with_names as with_names
from icpe.portable.units import with_words as with_words
