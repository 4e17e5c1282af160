"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ConfigDir = Annotated[
    Path | None,
    typer.Option(
        "--config-dir",
        metavar="DIR",
        help="Directory with burrow.toml, .yaml or .json; without it, the working directory.",
    ),
]
ConfigFile = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="The configuration file itself.")
]


def config_path(config_dir: Path | None, config: Path | None) -> Path:
    """The path of the configuration: one of the two options, or the working directory."""
    if config_dir is not None and config is not None:
        raise typer.BadParameter("give --config-dir or --config, not both")
    return config or config_dir or Path()
