"""Values in arrays of whole numbers that stand for none."""

from __future__ import annotations

from typing import Final

# the order of an empty slot; every real order is 0 or more
EMPTY: Final = -1
# a head, tail, lag or floor that is not known
UNKNOWN: Final = -1
