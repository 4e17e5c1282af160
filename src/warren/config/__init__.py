"""Burrow's configuration as typed, frozen settings: TOML, YAML or JSON, and the environment over it."""

from warren.config.loader import Examination, examine, load
from warren.config.problems import Problem
from warren.config.settings import AnyConsumer, AnyNotifier, AnySink, Settings

__all__ = ["AnyConsumer", "AnyNotifier", "AnySink", "Examination", "Problem", "Settings", "examine", "load"]
