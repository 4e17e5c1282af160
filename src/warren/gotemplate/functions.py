"""The functions that every template has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from warren.gotemplate import escapes
from warren.gotemplate.fmt import shown, sprint, sprintf, sprintln
from warren.gotemplate.types import (
    ANY,
    BOOL,
    INT,
    INTEGERS,
    STRING,
    UINT8,
    Function,
    GoError,
    Kind,
    Type,
    Value,
    as_bytes,
    as_text,
    indirect,
    is_nil,
    is_true,
    length,
    zero,
)

_BASIC: Final = frozenset({Kind.BOOL, Kind.INT, Kind.UINT, Kind.FLOAT, Kind.STRING})
_NO_VALUE: Final = Value(STRING, "<no value>")


def printable(value: Value | None) -> Value:
    """What an action prints: pointers are dereferenced, and None is "<no value>"."""
    if value is None:
        return _NO_VALUE
    return indirect(value)[0] or _NO_VALUE


def _len(item: Value | None) -> int:
    target, nil = indirect(item)
    if nil:
        raise GoError("len of nil pointer")
    size = None if target is None else length(target)
    if size is None:
        raise GoError(f"len of type {target.type}" if target else "len of nil")
    return size


def _position(index: Value | None, limit: int) -> int:
    if index is None:
        raise GoError("cannot index slice/array with nil")
    if index.type.kind not in INTEGERS:
        raise GoError(f"cannot index slice/array with type {index.type}")
    if not 0 <= index.data <= limit:
        raise GoError(f"index out of range: {index.data}")
    return int(index.data)


def _index(item: Value | None, *indexes: Value | None) -> Value | None:
    if item is None:
        raise GoError("index of untyped nil")
    for index in indexes:
        target, nil = indirect(item)
        if nil or target is None:
            raise GoError("index of nil pointer")
        item = _indexed(target, index)
        if item is None:
            break
    return item


def _indexed(item: Value, index: Value | None) -> Value | None:
    element = item.type.element
    if item.type.kind is Kind.STRING:
        data = as_bytes(item.data)
        return Value(UINT8, data[_within(index, len(data))])
    if item.type.kind is Kind.SLICE and element is not None:
        return Value(element, item.data[_within(index, len(item.data or ()))])
    if item.type.kind is Kind.MAP and element is not None and item.type.key is not None:
        key = _key(index, item.type.key)
        return Value(element, item.data[key]) if key in (item.data or {}) else zero(element)
    raise GoError(f"can't index item of type {item.type}")


def _within(index: Value | None, size: int) -> int:
    at = _position(index, size)
    if at == size:
        raise GoError(f"index out of range: {at}")
    return at


def _key(index: Value | None, of: Type) -> object:
    if index is None:
        raise GoError(f"value is nil; should be of type {of}")
    if index.type is of or (index.type.kind in INTEGERS and of.kind in INTEGERS):
        return index.data
    raise GoError(f"value has type {index.type}; should be {of}")


def _slice(item: Value | None, *indexes: Value | None) -> Value | None:
    if item is None:
        raise GoError("slice of untyped nil")
    target, nil = indirect(item)
    if nil or target is None:
        raise GoError("slice of nil pointer")
    if len(indexes) > 2:
        raise GoError(f"too many slice indexes: {len(indexes)}")
    is_text = target.type.kind is Kind.STRING
    if not is_text and target.type.kind is not Kind.SLICE:
        raise GoError(f"can't slice item of type {target.type}")
    raw = as_bytes(target.data) if is_text else target.data or []
    bounds = [_position(index, len(raw)) for index in indexes]
    first = bounds[0] if bounds else 0
    last = bounds[1] if len(bounds) > 1 else len(raw)
    if first > last:
        raise GoError(f"invalid slice index: {first} > {last}")
    part = raw[first:last]
    return Value(target.type, as_text(bytes(part)) if is_text else part)


def _not(value: Value | None) -> bool:
    return not is_true(value)


def _never(*_: Value | None) -> Value | None:
    """and, or: they stop at the first argument that decides, so the execution implements them."""
    raise GoError("cannot be called")


def _same(first: Value | None, second: Value | None) -> bool:
    if first is None or second is None:
        basic = next((one for one in (first, second) if one is not None and one.type.kind in _BASIC), None)
        return False if basic is not None else is_nil(first) and is_nil(second)
    kinds = {first.type.kind, second.type.kind}
    if kinds <= INTEGERS:
        return bool(first.data == second.data)
    if kinds & _BASIC:
        if len(kinds) > 1:
            raise GoError(f"incompatible types for comparison: {first.type} and {second.type}")
        return bool(first.data == second.data)
    if len(kinds) > 1:
        raise GoError(f"non-comparable types {first.type} and {second.type}")
    if is_nil(first) or is_nil(second):
        return is_nil(first) and is_nil(second)
    if second.type.kind in {Kind.MAP, Kind.SLICE}:
        raise GoError(f"non-comparable type {second.type}")
    if first.type is not second.type:
        return False
    return first.data is second.data if first.type.kind is Kind.POINTER else bool(first.data == second.data)


def _eq(first: Value | None, *others: Value | None) -> bool:
    if not others:
        raise GoError("missing argument for comparison")
    return any(_same(first, other) for other in others)


def _ne(first: Value | None, second: Value | None) -> bool:
    return not _same(first, second)


def _lt(first: Value | None, second: Value | None) -> bool:
    for one in (first, second):
        if one is None or one.type.kind not in _BASIC:
            raise GoError("invalid type for comparison")
    if first is None or second is None:
        return False
    kinds = {first.type.kind, second.type.kind}
    if len(kinds) > 1 and not kinds <= INTEGERS:
        raise GoError(f"incompatible types for comparison: {first.type} and {second.type}")
    if Kind.BOOL in kinds:
        raise GoError("invalid type for comparison")
    if kinds == {Kind.STRING}:
        return as_bytes(first.data) < as_bytes(second.data)
    return bool(first.data < second.data)


def _le(first: Value | None, second: Value | None) -> bool:
    return _lt(first, second) or _same(first, second)


def _gt(first: Value | None, second: Value | None) -> bool:
    return not _le(first, second)


def _ge(first: Value | None, second: Value | None) -> bool:
    return not _lt(first, second)


def _arguments_text(values: tuple[Value | None, ...]) -> str:
    if len(values) == 1 and values[0] is not None and values[0].type.kind is Kind.STRING:
        return shown(values[0])
    return sprint([printable(value) for value in values])


def _escaper(escape: Callable[[str], str]) -> Callable[..., str]:
    return lambda *values: escape(_arguments_text(values))


def _all(*functions: Function) -> Mapping[str, Function]:
    return {function.name: function for function in functions}


BUILTINS: Final = _all(
    Function("and", (ANY, ANY), _never, ANY, variadic=True),
    Function("or", (ANY, ANY), _never, ANY, variadic=True),
    Function("not", (ANY,), _not, BOOL),
    Function("len", (ANY,), _len, INT),
    Function("index", (ANY, ANY), _index, ANY, variadic=True),
    Function("slice", (ANY, ANY), _slice, ANY, variadic=True),
    Function("print", (ANY,), lambda *values: sprint(list(values)), STRING, variadic=True),
    Function("println", (ANY,), lambda *values: sprintln(list(values)), STRING, variadic=True),
    Function(
        "printf", (STRING, ANY), lambda form, *values: sprintf(form, list(values)), STRING, variadic=True
    ),
    Function("html", (ANY,), _escaper(escapes.html), STRING, variadic=True),
    Function("js", (ANY,), _escaper(escapes.script), STRING, variadic=True),
    Function("urlquery", (ANY,), _escaper(escapes.query), STRING, variadic=True),
    Function("eq", (ANY, ANY), _eq, BOOL, variadic=True),
    Function("ne", (ANY, ANY), _ne, BOOL),
    Function("lt", (ANY, ANY), _lt, BOOL),
    Function("le", (ANY, ANY), _le, BOOL),
    Function("gt", (ANY, ANY), _gt, BOOL),
    Function("ge", (ANY, ANY), _ge, BOOL),
)
