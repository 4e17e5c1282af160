"""What Grafana does with a panel before and after it asks its data source: variables, intervals, names, columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Names = Sequence[str] | str
Point = tuple[float, float]
Row = dict[str, Any]

# a panel is about so many pixels wide
WIDTH: Final = 1000


@dataclass(frozen=True)
class View:
    """What a person looks at: a time, and the chosen values of the variables. A str: "All", by its custom value."""

    from_s: float
    to_s: float
    variables: Mapping[str, Names]
    # how often there is a sample: the data source's "min interval"
    every_s: int
    # how much of the data is the newest, where panels have a minute of it
    newest_s: float
    # panels' own shortest intervals are for samples every 10 s; a busy machine has them less often than it should
    usual_s: int = 5

    def interval_s(self, panel: Mapping[str, Any]) -> int:
        points = panel.get("maxDataPoints", WIDTH)
        shortest = duration_s(panel.get("interval", "0s")) * self.every_s // self.usual_s
        return max(int((self.to_s - self.from_s) / points), shortest, self.every_s)

    def began_s(self, panel: Mapping[str, Any]) -> float:
        """Panels with a time of their own show the newest data only."""
        return self.to_s - self.newest_s if panel.get("timeFrom") else self.from_s


@dataclass
class Shown:
    """What a panel shows: series by their names, or rows by their columns."""

    series: dict[str, list[Point]] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    @property
    def last(self) -> dict[str, float]:
        return {name: points[-1][1] for name, points in self.series.items() if points}


def duration_s(text: str) -> int:
    return int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def replaced(text: str, variables: Mapping[str, Names], formats: Mapping[str, Callable[[Names], str]]) -> str:
    """`$name`, `${name}` and `${name:format}`; the format "" is the data source's own."""

    def value(match: re.Match[str]) -> str:
        name, wanted = match[1] or match[2], match[3] or ""
        if name not in variables:
            return match[0]
        chosen = variables[name]
        # a custom value for "All" is put in as it is
        return chosen if isinstance(chosen, str) else formats[wanted](chosen)

    return re.sub(r"\$(?:(\w+)|\{(\w+)(?::(\w+))?\})", value, text)


def prometheus_regex(chosen: Names) -> str:
    """Escaped twice: for the regular expression, and for the string in which it stands."""
    escaped = [
        re.sub(r"[$^*{}\[\]'+?.()|]", r"\\\\\g<0>", each.replace("\\", "\\\\\\\\").replace('"', '\\"'))
        for each in chosen
    ]
    return escaped[0] if len(escaped) == 1 else f"({'|'.join(escaped)})"


def regex(chosen: Names) -> str:
    escaped = [re.sub(r"[\\^$*+?.()|\[\]{}/]", r"\\\g<0>", each) for each in chosen]
    return escaped[0] if len(escaped) == 1 else f"({'|'.join(escaped)})"


def lucene(chosen: Names) -> str:
    escaped = [re.sub(r'([!*+\-=<>\s&|()\[\]{}^~?:\\/"])', r"\\\1", each) for each in chosen]
    quoted = [f'"{each}"' for each in escaped]
    return f"({' OR '.join(quoted)})"


def organized(panel: Mapping[str, Any], rows: Sequence[Row]) -> list[Row]:
    """Rows after the panel's transformations: columns hidden and renamed."""
    found = [dict(row) for row in rows]
    for transformation in panel.get("transformations", ()):
        options = transformation["options"]
        if transformation["id"] == "organize":
            hidden = {name for name, gone in options["excludeByName"].items() if gone}
            names = options["renameByName"]
            found = [
                {names.get(name, name): value for name, value in row.items() if name not in hidden}
                for row in found
            ]
    return found


def summed(panel: Mapping[str, Any], series: dict[str, list[Point]]) -> dict[str, list[Point]]:
    """Series after a "calculateField" that replaces them by their sum."""
    for transformation in panel.get("transformations", ()):
        if transformation["id"] == "calculateField":
            assert transformation["options"]["replaceFields"]
            total: dict[float, float] = {}
            for points in series.values():
                for time, value in points:
                    total[time] = total.get(time, 0.0) + value
            return {transformation["options"]["alias"]: sorted(total.items())}
    return series
