"""Takes the README's picture: plays the demo until every group has its status, and saves the table as it is then."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path
from typing import Final

from rich.console import Console

from warren.cli.demo import picture
from warren.config.sections import Logging
from warren.demo.stage import Stage
from warren.demo.traffic import DEFAULT_SEED
from warren.logs import configure

PICTURE: Final = Path(__file__).parents[1] / "docs/images/demo.svg"
PORT: Final = 8000
PATIENCE_S: Final = 180.0
# columns: the least that have room for the sentences
WIDTH: Final = 100


def main() -> None:
    """Play, wait, draw."""
    configure(Logging(level="error"))
    began = time.monotonic()
    with Stage(PORT, DEFAULT_SEED) as stage:
        while not all(scene.as_intended for scene in stage.scenes()):
            if time.monotonic() - began > PATIENCE_S:
                raise SystemExit("The groups did not get their statuses in time: no picture taken.")
            time.sleep(1)
        canvas = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
        canvas.print(picture(stage, stage.scenes(), time.monotonic() - began, WIDTH))
    drawn = canvas.export_svg(title="warren demo")
    # whoever looks at the picture need not fetch fonts from elsewhere
    PICTURE.write_text(re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL))


if __name__ == "__main__":
    main()
