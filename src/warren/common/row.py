"""The shape of every streaming row, in a module of its own: Spark's planning processes need only this."""

from __future__ import annotations

from typing import Final

ROW: Final = "bucket int, kind string, payload binary"
