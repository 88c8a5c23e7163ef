"""Tables of cases: from rows and classes to an explorer that asks for features."""

from icpe.integrations.tables.fit import FittedTable as FittedTable
from icpe.integrations.tables.fit import fit_table as fit_table
