"""Execution: renders a tree with its data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from warren.gotemplate import nodes
from warren.gotemplate.errors import TemplateError
from warren.gotemplate.fmt import MAX_TEXT, shown, sorted_items
from warren.gotemplate.functions import printable
from warren.gotemplate.types import (
    ANY,
    BOOL,
    FLOAT64,
    INT,
    INTEGERS,
    NILLABLE,
    STRING,
    Function,
    GoError,
    Kind,
    Type,
    Value,
    as_bytes,
    indirect,
    is_true,
    members,
    method_of,
    zero,
)
from warren.spelling import did_you_mean

# templates that call each other: Go allows 100 000, Python's stack less
MAX_DEPTH: Final = 100
# maximum number of nodes per rendering: seconds of work, or 10 000 partitions with 100 actions each
MAX_STEPS: Final = 1_000_000


class _Break(Exception):  # noqa: N818 - not an error
    pass


class _Continue(Exception):  # noqa: N818 - not an error
    pass


class _Missing:
    """There is no value from an earlier command of the pipeline."""


_MISSING: Final = _Missing()
_Final = Value | None | _Missing


@dataclass(frozen=True)
class Program:
    """A template that can be executed."""

    tree: nodes.Tree
    functions: Mapping[str, Function]

    def execute(self, data: Value) -> str:
        """The text; TemplateError when something in it cannot be evaluated."""
        state = _State(self, data)
        try:
            state.walk(self.tree.templates[self.tree.name], data)
        except RecursionError:
            raise TemplateError(
                self.tree.name, state.line, "too deeply nested", "make the template simpler"
            ) from None
        text = "".join(state.parts)
        # bytes that form characters again are joined; invalid bytes are replaced
        return text if text.isascii() else as_bytes(text).decode("utf-8", "replace")


class _State:
    def __init__(self, program: Program, data: Value) -> None:
        self._program = program
        self._functions = program.functions
        self.parts: list[str] = []
        self.line = 1
        self._size = 0
        self._steps = 0
        self._depth = 0
        # name and value; the last entry of a name is the current one
        self._variables: list[list[Any]] = [["$", data]]

    def _fail(self, what: str, remedy: str = "correct the template") -> TemplateError:
        return TemplateError(self._program.tree.name, self.line, what, remedy)

    # nodes

    def walk(self, body: Iterable[nodes.Node], dot: Value | None) -> None:  # noqa: C901 - one kind each
        for node in body:
            self._step()
            if isinstance(node, nodes.Text):
                self._write(node.text)
                continue
            self.line = node.line
            match node:
                case nodes.Action():
                    value = self._pipeline(node.pipeline, dot)
                    if not node.pipeline.variables:
                        self._print(value)
                case nodes.If():
                    self._if(node, dot)
                case nodes.With():
                    self._with(node, dot)
                case nodes.Range():
                    self._range(node, dot)
                case nodes.Call():
                    self._template(node, dot)
                case nodes.Break():
                    raise _Break
                case nodes.Continue():
                    raise _Continue

    def _step(self) -> None:
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise self._fail(f"more than {MAX_STEPS} steps", "make its ranges shorter")

    def _write(self, text: str) -> None:
        self._size += len(text)
        if self._size > MAX_TEXT:
            raise self._fail(f"the text is longer than {MAX_TEXT} characters", "make its ranges shorter")
        self.parts.append(text)

    def _print(self, value: Value | None) -> None:
        try:
            self._write(shown(printable(value)))
        except GoError as error:
            raise self._fail(str(error)) from error

    def _if(self, node: nodes.If, dot: Value | None) -> None:
        known = len(self._variables)
        truth = is_true(self._pipeline(node.pipeline, dot))
        self.walk(node.body if truth else node.otherwise, dot)
        del self._variables[known:]

    def _with(self, node: nodes.With, dot: Value | None) -> None:
        known = len(self._variables)
        value = self._pipeline(node.pipeline, dot)
        if is_true(value):
            self.walk(node.body, value)
        else:
            self.walk(node.otherwise, dot)
        del self._variables[known:]

    def _range(self, node: nodes.Range, dot: Value | None) -> None:
        known = len(self._variables)
        value, _ = indirect(self._pipeline(node.pipeline, dot))
        inside = len(self._variables)
        ran = False
        try:
            for index, element in self._items(node, value):
                ran = True
                self._step()
                self._set_range_variables(node.pipeline, index, element)
                try:
                    self.walk(node.body, element)
                except _Continue:
                    pass
                finally:
                    del self._variables[inside:]
        except _Break:
            pass
        else:
            if not ran:
                self.walk(node.otherwise, dot)
        finally:
            del self._variables[known:]

    def _items(self, node: nodes.Range, value: Value | None) -> Iterable[tuple[Value | None, Value]]:
        if value is None:
            return ()
        of, data = value
        if of.kind in INTEGERS:
            if len(node.pipeline.variables) > 1:
                raise self._fail(
                    f"can't use {data} to iterate over more than one variable", "keep one variable"
                )
            return ((None, Value(of, number)) for number in range(data))
        if of.kind is Kind.SLICE and of.element is not None:
            element = of.element
            return ((Value(INT, at), Value(element, one)) for at, one in enumerate(data or ()))
        if of.kind is Kind.MAP and of.element is not None and of.key is not None:
            key, element = of.key, of.element
            return ((Value(key, name), Value(element, one)) for name, one in sorted_items(data))
        raise self._fail(f"range can't iterate over {shown(value)}", f"it is {of}, not a list or a map")

    def _set_range_variables(self, pipeline: nodes.Pipeline, index: Value | None, element: Value) -> None:
        names = pipeline.variables
        values = [index, element] if len(names) > 1 else [element]
        if pipeline.assigns:
            for name, value in zip(names, values, strict=False):
                self._assign(name, value)
        else:
            for at, value in enumerate(reversed(values[: len(names)]), start=1):
                self._variables[-at][1] = value

    def _template(self, node: nodes.Call, dot: Value | None) -> None:
        body = self._program.tree.templates.get(node.name)
        if body is None:
            known = self._program.tree.templates
            raise self._fail(
                f'template "{node.name}" not defined',
                did_you_mean(node.name, known, "define it in this file"),
            )
        if self._depth == MAX_DEPTH:
            raise self._fail(
                f"exceeded maximum template depth ({MAX_DEPTH})", "a template calls itself endlessly"
            )
        value = None if node.pipeline is None else self._pipeline(node.pipeline, dot)
        outer, self._variables = self._variables, [["$", value]]
        self._depth += 1
        self.walk(body, value)
        self._depth -= 1
        self._variables = outer

    # pipelines

    def _assign(self, name: str, value: Value | None) -> None:
        for slot in reversed(self._variables):
            if slot[0] == name:
                slot[1] = value
                return

    def _variable(self, name: str) -> Value | None:
        for slot in reversed(self._variables):
            if slot[0] == name:
                found: Value | None = slot[1]
                return found
        raise self._fail(f"undefined variable: {name}")

    def _pipeline(self, pipeline: nodes.Pipeline, dot: Value | None) -> Value | None:
        value: _Final = _MISSING
        for command in pipeline.commands:
            self.line = command.line
            value = self._command(command, dot, value)
        result = None if isinstance(value, _Missing) else value
        for name in pipeline.variables:
            if pipeline.assigns:
                self._assign(name, result)
            else:
                self._variables.append([name, result])
        return result

    def _command(self, command: nodes.Command, dot: Value | None, final: _Final) -> Value | None:
        first, arguments = command.operands[0], command.operands[1:]
        match first:
            case nodes.FieldPath():
                return self._path(dot, dot, first.names, arguments, final)
            case nodes.Chain():
                return self._path(dot, self._inner(first.term, dot), first.names, arguments, final)
            case nodes.Name():
                return self._function(first, arguments, dot, final)
            case nodes.Variable() if first.names:
                return self._path(dot, self._variable(first.name), first.names, arguments, final)
        if arguments or not isinstance(final, _Missing):
            raise self._fail(f"can't give argument to non-function {first}")
        if isinstance(first, nodes.Nil):
            raise self._fail("nil is not a command")
        return self._operand(first, dot)

    def _operand(  # noqa: PLR0911 - one kind each
        self, operand: nodes.Operand, dot: Value | None
    ) -> Value | None:
        """An operand without arguments, where any type is accepted."""
        match operand:
            case nodes.Dot():
                return dot
            case nodes.FieldPath():
                return self._path(dot, dot, operand.names, (), _MISSING)
            case nodes.Variable():
                value = self._variable(operand.name)
                return self._path(dot, value, operand.names, (), _MISSING) if operand.names else value
            case nodes.Chain():
                return self._path(dot, self._inner(operand.term, dot), operand.names, (), _MISSING)
            case nodes.Constant():
                return Value(BOOL if isinstance(operand.value, bool) else STRING, operand.value)
            case nodes.Numeral():
                return self._ideal(operand)
            case nodes.Nil():
                return None
            case _:
                return self._inner(operand, dot)

    def _inner(self, term: nodes.Pipeline | nodes.Name, dot: Value | None) -> Value | None:
        if isinstance(term, nodes.Pipeline):
            return self._pipeline(term, dot)
        return self._function(term, (), dot, _MISSING)

    def _ideal(self, numeral: nodes.Numeral) -> Value | None:
        """A number where any type is accepted: its form determines the type."""
        value = ideal(numeral)
        if value is None:
            raise self._fail(f"{numeral} overflows int")
        return value

    def _function(
        self, name: nodes.Name, arguments: tuple[nodes.Operand, ...], dot: Value | None, final: _Final
    ) -> Value | None:
        self.line = name.line
        function = self._functions[name.name]
        if name.name in {"and", "or"}:
            return self._logic(name.name, arguments, dot, final)
        return self._call(function, (), arguments, dot, final)

    def _logic(
        self, name: str, arguments: tuple[nodes.Operand, ...], dot: Value | None, final: _Final
    ) -> Value | None:
        if not arguments and isinstance(final, _Missing):
            raise self._fail(f"wrong number of args for {name}: want at least 1 got 0")
        value: Value | None = None
        for argument in arguments:
            value = self._operand(argument, dot)
            if is_true(value) is (name == "or"):
                return value
        return value if isinstance(final, _Missing) else final

    def _path(
        self,
        dot: Value | None,
        receiver: Value | None,
        names: tuple[str, ...],
        arguments: tuple[nodes.Operand, ...],
        final: _Final,
    ) -> Value | None:
        for name in names[:-1]:
            receiver = self._member(dot, receiver, name, (), _MISSING)
        return self._member(dot, receiver, names[-1], arguments, final)

    def _member(
        self,
        dot: Value | None,
        receiver: Value | None,
        name: str,
        arguments: tuple[nodes.Operand, ...],
        final: _Final,
    ) -> Value | None:
        if receiver is None:
            return None
        target, nil = indirect(receiver)
        if target is None:
            return None
        method = method_of(receiver.type, name)
        if method is not None:
            if nil:
                raise self._fail(f"nil pointer evaluating {receiver.type}.{name}", _guard(name))
            return self._call(method, (target.data,), arguments, dot, final)
        given = bool(arguments) or not isinstance(final, _Missing)
        of = target.type.element if nil and target.type.element is not None else target.type
        field = of.fields.get(name)
        if field is not None:
            if nil:
                raise self._fail(f"nil pointer evaluating {receiver.type}.{name}", _guard(name))
            if given:
                raise self._fail(f"{name} has arguments but cannot be invoked as function")
            return Value(field.type, field.get(target.data))
        if of.kind is Kind.MAP and of.key is STRING and of.element is not None:
            if given:
                raise self._fail(f"{name} is not a method but has arguments")
            return Value(of.element, target.data[name]) if name in (target.data or {}) else None
        raise self._fail(*unknown_member(receiver.type, name))

    # calls

    def _call(
        self,
        function: Function,
        receiver: tuple[Any, ...],
        arguments: tuple[nodes.Operand, ...],
        dot: Value | None,
        final: _Final,
    ) -> Value | None:
        piped = not isinstance(final, _Missing)
        fault = wrong_count(function, len(arguments) + piped)
        if fault:
            raise self._fail(fault)
        given: list[Any] = list(receiver)
        for at, argument in enumerate(arguments):
            given.append(self._argument(parameter(function, at), argument, dot))
        line = self.line
        if not isinstance(final, _Missing):
            given.append(self._fitted(final, parameter(function, len(arguments))))
        try:
            result = function.call(*given)
        except GoError as error:
            self.line = line
            raise self._fail(f"error calling {function.name}: {error}") from error
        if function.result is ANY:
            made: Value | None = result
            return made
        if isinstance(result, str) and len(result) > MAX_TEXT:
            raise self._fail(f"the text is longer than {MAX_TEXT} characters", "make its ranges shorter")
        return Value(function.result, result)

    def _argument(self, of: Type, operand: nodes.Operand, dot: Value | None) -> Any:
        """The data for a parameter of this type; the value itself for ANY."""
        self.line = operand.line
        if isinstance(operand, nodes.Nil):
            if of.kind not in NILLABLE:
                raise self._fail(f"cannot assign nil to {of}")
            return None
        if of is ANY:
            return self._operand(operand, dot)
        if isinstance(operand, nodes.Constant | nodes.Numeral):
            data, fault = constant_data(operand, of)
            if fault:
                raise self._fail(fault)
            return data
        return self._fitted(self._operand(operand, dot), of)

    def _fitted(self, value: Value | None, of: Type) -> Any:
        if of is ANY:
            return value
        if value is None:
            if of.kind not in NILLABLE:
                raise self._fail(f"invalid value; expected {of}")
            empty = zero(of)
            return None if empty is None else empty.data
        if value.type is of:
            return value.data
        if value.type.kind is Kind.POINTER and value.type.element is of:
            if value.data is None:
                raise self._fail(f"dereference of nil pointer of type {of}")
            return value.data
        raise self._fail(f"wrong type for value; expected {of}; got {value.type}")


def _guard(name: str) -> str:
    return f"put {{{{with}}}} or {{{{if}}}} around .{name}: it is not always set"


def unknown_member(of: Type, name: str) -> tuple[str, str]:
    """The error message and the remedy for a field that does not exist."""
    known = members(of)
    otherwise = f"it has {', '.join(known)}" if known else "it has no fields"
    shown_type = "what the template is given" if of.name.startswith("struct {") else of.name
    return f"there is no field {name} in {shown_type}", did_you_mean(name, known, otherwise)


def ideal(numeral: nodes.Numeral) -> Value | None:
    """A number whose form determines its type; None when it overflows an integer."""
    number = numeral.number
    text = number.text.lower()
    if number.float is not None and not text.lstrip("+-").startswith(("0x", "'")) and set(text) & set(".e"):
        return Value(FLOAT64, number.float)
    return None if number.integer is None else Value(INT, number.integer)


_LITERAL_NAMES: Final = {
    Kind.BOOL: "bool",
    Kind.STRING: "string",
    Kind.INT: "integer",
    Kind.UINT: "unsigned integer",
    Kind.FLOAT: "float",
}


def constant_data(operand: nodes.Constant | nodes.Numeral, of: Type) -> tuple[Any, str]:
    """A literal as an argument of this type, or the error message."""
    readings: dict[Kind, Any]
    if isinstance(operand, nodes.Constant):
        readings = {Kind.BOOL if isinstance(operand.value, bool) else Kind.STRING: operand.value}
    else:
        number = operand.number
        readings = {Kind.INT: number.integer, Kind.UINT: number.unsigned, Kind.FLOAT: number.float}
    data = readings.get(of.kind)
    if data is not None:
        return data, ""
    if of.kind in _LITERAL_NAMES:
        return None, f"expected {_LITERAL_NAMES[of.kind]}; found {operand}"
    return None, f"can't handle {operand} for arg of type {of}"


def parameter(function: Function, at: int) -> Type:
    """The type of an argument by its position."""
    return function.parameters[min(at, len(function.parameters) - 1)]


def wrong_count(function: Function, count: int) -> str:
    """The error message for this number of arguments; "" when it is right."""
    wanted = len(function.parameters)
    if function.variadic:
        if count < wanted - 1:
            return f"wrong number of args for {function.name}: want at least {wanted - 1} got {count}"
        return ""
    return "" if count == wanted else f"wrong number of args for {function.name}: want {wanted} got {count}"
