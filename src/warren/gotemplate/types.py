"""Go's types and values in templates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final, NamedTuple


class Kind(Enum):
    """The kind of a type."""

    BOOL = auto()
    INT = auto()
    UINT = auto()
    FLOAT = auto()
    STRING = auto()
    SLICE = auto()
    MAP = auto()
    POINTER = auto()
    STRUCT = auto()
    # a parameter of any type
    ANY = auto()


class GoError(Exception):
    """A function or method of a template failed; the execution adds the line."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct; its value is computed from the struct's data."""

    name: str
    type: Type
    get: Callable[[Any], Any]
    # its name in JSON; "": the field's own name, "-": not in JSON
    json: str = ""


@dataclass(frozen=True, slots=True)
class Function:
    """A function, or a method whose receiver is the first argument of `call` but not in `parameters`."""

    name: str
    parameters: tuple[Type, ...]
    # takes and returns plain data for typed parameters; Values (None: nil) for those of type ANY
    call: Callable[..., Any]
    # ANY: `call` returns a Value
    result: Type
    # the last parameter may be repeated
    variadic: bool = False


@dataclass(frozen=True, eq=False)
class Type:
    """Compared by identity: there is one object per type."""

    kind: Kind
    name: str
    bits: int = 64
    # of slices, maps and pointers
    element: Type | None = None
    key: Type | None = None
    # of structs, in order
    fields: Mapping[str, Field] = field(default_factory=dict)
    methods: dict[str, Function] = field(default_factory=dict)
    # implements String(); None: it has no such method
    text: Callable[[Any], str] | None = None
    # its own JSON marshaller
    json: Callable[[Any], str] | None = None

    def __str__(self) -> str:
        return self.name


class Value(NamedTuple):
    """A value with its type.

    The data is plain Python: bool, int, float, str (bytes that are not UTF-8 as surrogates), a sequence for
    slices, dict for maps, what it points to (None: nil) for pointers, any object for structs.
    """

    type: Type
    data: Any


BOOL: Final = Type(Kind.BOOL, "bool")
INT: Final = Type(Kind.INT, "int")
INT32: Final = Type(Kind.INT, "int32", 32)
INT64: Final = Type(Kind.INT, "int64")
UINT8: Final = Type(Kind.UINT, "uint8", 8)
UINT64: Final = Type(Kind.UINT, "uint64")
FLOAT32: Final = Type(Kind.FLOAT, "float32", 32)
FLOAT64: Final = Type(Kind.FLOAT, "float64")
STRING: Final = Type(Kind.STRING, "string")
ANY: Final = Type(Kind.ANY, "interface {}")

NILLABLE: Final = frozenset({Kind.ANY, Kind.MAP, Kind.POINTER, Kind.SLICE})
INTEGERS: Final = frozenset({Kind.INT, Kind.UINT})


def slice_of(element: Type) -> Type:
    return Type(Kind.SLICE, f"[]{element.name}", element=element)


def map_of(key: Type, element: Type) -> Type:
    return Type(Kind.MAP, f"map[{key.name}]{element.name}", key=key, element=element)


def pointer_to(element: Type) -> Type:
    """Pointers share the methods of what they point to."""
    return Type(Kind.POINTER, f"*{element.name}", element=element)


def struct_of(name: str, *fields: Field, **more: Any) -> Type:
    """A struct; without a name it is named after its fields."""
    inside = "; ".join(f"{one.name} {one.type.name}" for one in fields)
    return Type(
        Kind.STRUCT,
        name or f"struct {{ {inside} }}",
        fields={one.name: one for one in fields},
        **more,
    )


def give(of: Type, *methods: Function) -> None:
    """Add methods, which may refer to the type itself."""
    of.methods.update({method.name: method for method in methods})


STRINGS: Final = slice_of(STRING)

# the zero value of each kind
_ZEROS: Final[Mapping[Kind, Any]] = {
    Kind.BOOL: False,
    Kind.INT: 0,
    Kind.UINT: 0,
    Kind.FLOAT: 0.0,
    Kind.STRING: "",
}


def zero(of: Type) -> Value | None:
    """The zero value; None for the untyped nil."""
    return None if of.kind is Kind.ANY else Value(of, _ZEROS.get(of.kind))


def as_bytes(text: str) -> bytes:
    """The bytes of a Go string."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # an unpaired surrogate from the input, impossible in Go
        return text.encode("utf-8", "replace")


def as_text(data: bytes) -> str:
    """A Go string of any bytes."""
    return data.decode("utf-8", "surrogateescape")


def is_nil(value: Value | None) -> bool:
    return value is None or (value.type.kind in NILLABLE and value.data is None)


def indirect(value: Value | None) -> tuple[Value | None, bool]:
    """What a pointer points to, and whether it is nil."""
    if value is None or value.type.element is None or value.type.kind is not Kind.POINTER:
        return value, False
    if value.data is None:
        return value, True
    return Value(value.type.element, value.data), False


def is_true(value: Value | None) -> bool:
    """Not the zero of its type; structs are always true."""
    if value is None:
        return False
    kind = value.type.kind
    if kind is Kind.STRUCT:
        return True
    if kind is Kind.POINTER:
        return value.data is not None
    return bool(value.data)


def length(value: Value) -> int | None:
    """Of a string (in bytes), a slice or a map; None when it has none."""
    if value.type.kind is Kind.STRING:
        return len(value.data) if value.data.isascii() else len(as_bytes(value.data))
    if value.type.kind in {Kind.SLICE, Kind.MAP}:
        return len(value.data) if value.data is not None else 0
    return None


def wrapped(number: int, of: Type) -> int:
    """The integer with Go's overflow (wraps around)."""
    number &= (1 << of.bits) - 1
    if of.kind is Kind.INT and number >> (of.bits - 1):
        number -= 1 << of.bits
    return number


def method_of(of: Type, name: str) -> Function | None:
    found = of.methods.get(name)
    if found is None and of.kind is Kind.POINTER and of.element is not None:
        return of.element.methods.get(name)
    return found


def members(of: Type) -> list[str]:
    """The names that may follow a value and a dot."""
    target = of.element if of.kind is Kind.POINTER and of.element is not None else of
    return [*target.fields, *target.methods]
