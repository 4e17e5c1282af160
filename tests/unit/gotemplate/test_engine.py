"""The engine with types and functions of its own: nothing in it is about groups or messages."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

import pytest

from warren.gotemplate.checker import KnownKeys, faults
from warren.gotemplate.execution import Program
from warren.gotemplate.functions import BUILTINS
from warren.gotemplate.parser import parse
from warren.gotemplate.types import (
    FLOAT64,
    INT,
    STRING,
    Field,
    Function,
    Value,
    map_of,
    pointer_to,
    slice_of,
    struct_of,
)


@dataclass
class Book:
    title: str
    pages: int
    sequel: Book | None = None


@dataclass
class Shelf:
    books: list[Book]
    labels: dict[str, str]


BOOK = struct_of(
    "Book", Field("Title", STRING, attrgetter("title")), Field("Pages", INT, attrgetter("pages"))
)
NEXT = struct_of(
    "BookWithSequel",
    Field("Title", STRING, attrgetter("title")),
    Field("Sequel", pointer_to(BOOK), attrgetter("sequel")),
)
LABELS = map_of(STRING, STRING)
SHELF = struct_of(
    "Shelf",
    Field("Books", slice_of(pointer_to(NEXT)), attrgetter("books")),
    Field("Labels", LABELS, attrgetter("labels")),
)
HALF = Function("half", (INT,), lambda number: number / 2, FLOAT64)
FUNCTIONS = {**BUILTINS, "half": HALF}
DATA = Value(SHELF, Shelf([Book("Emma", 474), Book("Ulysses", 730, Book("Wake", 628))], {"room": "A"}))


class Case(NamedTuple):
    template: str
    text: str


CASES = [
    Case("{{range .Books}}{{.Title}} {{end}}", "Emma Ulysses "),
    Case("{{with (index .Books 1).Sequel}}{{.Title}}: {{half .Pages}}{{end}}", "Wake: 314"),
    Case("{{.Labels.room}}{{len .Books}}", "A2"),
    # an address would say nothing to a person, and something else in every run
    Case("{{.Books}}", "[&{Emma <nil>} &{Ulysses &{Wake 628}}]"),
    Case('{{printf "%+v" .}}', "{Books:[&{Title:Emma Sequel:<nil>} &{Title:Ulysses Sequel:&{Title:Wake Pages:628}}] "
    "Labels:map[room:A]}"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.template)
def test_data_of_any_kind(case: Case) -> None:
    tree = parse("shelf", case.template, FUNCTIONS)
    assert tree.faults == []
    assert faults(tree, FUNCTIONS, SHELF, {}) == []
    assert Program(tree, FUNCTIONS).execute(DATA) == case.text


def test_keys_that_are_known_are_called_by_the_name_of_their_map() -> None:
    tree = parse("shelf", "{{.Labels.rom}}", FUNCTIONS)
    found = faults(tree, FUNCTIONS, SHELF, {LABELS: KnownKeys("labels", ["room"])})
    assert [(fault.what, fault.remedy, fault.severe) for fault in found] == [
        ('labels has no "rom"', "did you mean room?", False)
    ]
