"""Warren tells Kafka teams which of their consumer groups are in trouble, without thresholds."""

from typing import Final

__version__: Final = "0.1.0"
