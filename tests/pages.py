"""The commands of a page, for tests that run them as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import Final

ROOT: Final = Path(__file__).parents[1]


def blocks(page: str, heading: str = "") -> list[str]:
    """The indented blocks of a page, in order; with a heading only those of its section."""
    text = (ROOT / page).read_text()
    if heading:
        found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        assert found, f"{page} has no section {heading}"
        text = found.group(1)
    # a block ends at a line that is neither indented nor empty
    return [
        dedent(block).strip() + "\n"
        for block in re.findall(r"(?:^ {4}.*\n|^\n(?= {4}))+", text, re.MULTILINE)
    ]
