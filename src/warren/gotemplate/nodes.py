"""The syntax tree of a template."""

from __future__ import annotations

from dataclasses import dataclass, field

from warren.gotemplate.literals import Number


@dataclass(frozen=True, slots=True)
class Dot:
    line: int

    def __str__(self) -> str:
        return "."


@dataclass(frozen=True, slots=True)
class Nil:
    line: int

    def __str__(self) -> str:
        return "nil"


@dataclass(frozen=True, slots=True)
class Constant:
    """A string or a boolean."""

    line: int
    value: str | bool
    source: str

    def __str__(self) -> str:
        return self.source


@dataclass(frozen=True, slots=True)
class Numeral:
    line: int
    number: Number

    def __str__(self) -> str:
        return self.number.text


@dataclass(frozen=True, slots=True)
class FieldPath:
    """.A.B"""

    line: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(f".{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Variable:
    """$x.A.B"""

    line: int
    name: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return self.name + "".join(f".{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Name:
    """A function."""

    line: int
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Chain:
    """(pipeline).A.B, function.A.B"""

    line: int
    term: Pipeline | Name
    names: tuple[str, ...]

    def __str__(self) -> str:
        inner = f"({self.term})" if isinstance(self.term, Pipeline) else str(self.term)
        return inner + "".join(f".{name}" for name in self.names)


@dataclass(frozen=True, slots=True)
class Command:
    """The first operand with the others as its arguments."""

    line: int
    operands: tuple[Operand, ...]

    def __str__(self) -> str:
        return " ".join(f"({one})" if isinstance(one, Pipeline) else str(one) for one in self.operands)


@dataclass(frozen=True, slots=True)
class Pipeline:
    line: int
    # the variables it sets
    variables: tuple[str, ...]
    # whether they were declared before
    assigns: bool
    commands: tuple[Command, ...]

    def __str__(self) -> str:
        body = " | ".join(str(command) for command in self.commands)
        sign = "=" if self.assigns else ":="
        return f"{', '.join(self.variables)} {sign} {body}" if self.variables else body


Operand = Dot | Nil | Constant | Numeral | FieldPath | Variable | Name | Chain | Pipeline


@dataclass(frozen=True, slots=True)
class Text:
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Action:
    line: int
    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class Branch:
    """if, with and range."""

    line: int
    pipeline: Pipeline
    body: tuple[Node, ...]
    otherwise: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class If(Branch):
    pass


@dataclass(frozen=True, slots=True)
class With(Branch):
    pass


@dataclass(frozen=True, slots=True)
class Range(Branch):
    pass


@dataclass(frozen=True, slots=True)
class Call:
    """{{template "name" pipeline}}"""

    line: int
    name: str
    pipeline: Pipeline | None


@dataclass(frozen=True, slots=True)
class Break:
    line: int


@dataclass(frozen=True, slots=True)
class Continue:
    line: int


Node = Text | Action | If | With | Range | Call | Break | Continue


@dataclass(frozen=True, slots=True)
class Fault:
    """An error in a template."""

    line: int
    what: str
    remedy: str
    # false: a warning, the template can be used
    severe: bool = True


@dataclass(slots=True)
class Tree:
    """A parsed text: the template itself under its own name, and those that it defines."""

    name: str
    # name of a template: its nodes
    templates: dict[str, tuple[Node, ...]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
