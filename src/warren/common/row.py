"""The shape of every streaming row, apart from all else: Spark's planning processes need no more than this."""

from __future__ import annotations

from typing import Final

ROW: Final = "bucket int, kind string, payload binary"
