"""A table of cases as a family: which class is a case in, feature by feature?"""

from icpe.families.table.belief import RowsBelief as RowsBelief
from icpe.families.table.columns import MISSING as MISSING
from icpe.families.table.columns import TableAnswers as TableAnswers
from icpe.families.table.law import Case as Case
from icpe.families.table.law import CaseTable as CaseTable
