"""An adaptive test from a bank of items: in which band is the ability?"""

from icpe.families.item_bank.law import ItemBank as ItemBank
from icpe.families.item_bank.reading import from_item_bank as from_item_bank
