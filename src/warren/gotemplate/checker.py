"""A static type check of a template, including branches that no sample data would execute."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from warren.gotemplate import nodes
from warren.gotemplate.execution import (
    constant_data,
    ideal,
    parameter,
    unknown_member,
    wrong_count,
)
from warren.gotemplate.types import (
    ANY,
    BOOL,
    INT,
    INTEGERS,
    NILLABLE,
    STRING,
    UINT8,
    Function,
    Kind,
    Type,
    method_of,
)
from warren.spelling import did_you_mean

_ORDERED: Final = frozenset({Kind.INT, Kind.UINT, Kind.FLOAT, Kind.STRING})
_BASIC: Final = _ORDERED | {Kind.BOOL}
_COMPARISONS: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_FIX: Final = "correct the template"

# None: a type that is known at execution only
_Known = Type | None


class KnownKeys(NamedTuple):
    """All keys of a map whose content is known before the template is executed."""

    # the map's name in messages
    name: str
    keys: Collection[str]


def faults(
    tree: nodes.Tree, functions: Mapping[str, Function], data: Type, keys: Mapping[Type, KnownKeys]
) -> list[nodes.Fault]:
    """All faults, by line; `keys` has the known keys of maps, by type."""
    checker = _Checker(tree, functions, keys)
    checker.template(tree.name, data)
    for name in tree.templates:
        checker.unused(name)
    return sorted({(fault.line, fault.what): fault for fault in checker.found}.values(), key=lambda f: f.line)


def _assigned(body: tuple[nodes.Node, ...]) -> Iterator[str]:
    """Variables that are assigned again: their types are not tracked."""
    for node in body:
        if isinstance(node, nodes.Action) and node.pipeline.assigns:
            yield from node.pipeline.variables
        elif isinstance(node, nodes.Branch):
            if node.pipeline.assigns:
                yield from node.pipeline.variables
            yield from _assigned(node.body)
            yield from _assigned(node.otherwise)


class _Checker:
    def __init__(
        self, tree: nodes.Tree, functions: Mapping[str, Function], keys: Mapping[Type, KnownKeys]
    ) -> None:
        self.found: list[nodes.Fault] = []
        self._tree = tree
        self._functions = functions
        self._keys = keys
        self._seen: set[tuple[str, _Known]] = set()
        self._reassigned: frozenset[str] = frozenset()
        self._variables: list[tuple[str, _Known]] = []

    def _fault(self, line: int, what: str, remedy: str = _FIX, *, severe: bool = True) -> None:
        self.found.append(nodes.Fault(line, what, remedy, severe))

    def unused(self, name: str) -> None:
        """Check a template that is never called."""
        if not any(seen == name for seen, _ in self._seen):
            self.template(name, None)

    def template(self, name: str, dot: _Known) -> None:
        body = self._tree.templates.get(name)
        if body is None or (name, dot) in self._seen:
            return
        self._seen.add((name, dot))
        outer = self._variables, self._reassigned
        self._variables = [("$", dot)]
        self._reassigned = frozenset(_assigned(body))
        self._walk(body, dot)
        self._variables, self._reassigned = outer

    def _walk(self, body: tuple[nodes.Node, ...], dot: _Known) -> None:
        for node in body:
            if isinstance(node, nodes.Action):
                self._pipeline(node.pipeline, dot)
            elif isinstance(node, nodes.Branch):
                self._branch(node, dot)
            elif isinstance(node, nodes.Call):
                given = None if node.pipeline is None else self._pipeline(node.pipeline, dot)
                if node.name not in self._tree.templates:
                    remedy = did_you_mean(node.name, self._tree.templates, "define it in this file")
                    self._fault(node.line, f'template "{node.name}" not defined', remedy)
                self.template(node.name, given)

    def _branch(self, node: nodes.Branch, dot: _Known) -> None:
        known = len(self._variables)
        of = self._pipeline(node.pipeline, dot)
        inner = dot
        if isinstance(node, nodes.With):
            inner = of
        elif isinstance(node, nodes.Range):
            index, inner = self._ranged(node, of)
            names = node.pipeline.variables
            if names and not node.pipeline.assigns:
                del self._variables[len(self._variables) - len(names) :]
                types = (index, inner) if len(names) > 1 else (inner,)
                for name, type_ in zip(names, types, strict=False):
                    self._declare(name, type_)
        self._walk(node.body, inner)
        self._walk(node.otherwise, dot)
        del self._variables[known:]

    def _ranged(self, node: nodes.Range, of: _Known) -> tuple[_Known, _Known]:
        target = of.element if of is not None and of.kind is Kind.POINTER else of
        if target is None:
            return None, None
        if target.kind is Kind.SLICE:
            return INT, target.element
        if target.kind is Kind.MAP:
            return target.key, target.element
        if target.kind in INTEGERS:
            if len(node.pipeline.variables) > 1:
                self._fault(node.line, "a range over a number has one variable only", "remove the second")
            return None, target
        self._fault(node.line, f"range can't iterate over {target}", "it is not a list or a map")
        return None, None

    def _declare(self, name: str, of: _Known) -> None:
        self._variables.append((name, None if name in self._reassigned else of))

    def _pipeline(self, pipeline: nodes.Pipeline, dot: _Known) -> _Known:
        of: _Known = None
        for stage, command in enumerate(pipeline.commands):
            of = self._command(command, dot, of, piped=stage > 0)
        if not pipeline.assigns:
            for name in pipeline.variables:
                self._declare(name, of)
        return of

    def _command(self, command: nodes.Command, dot: _Known, final: _Known, *, piped: bool) -> _Known:
        first, arguments = command.operands[0], command.operands[1:]
        if isinstance(first, nodes.Name):
            return self._function(first, arguments, dot, final, piped=piped)
        if isinstance(first, nodes.FieldPath | nodes.Chain) or (
            isinstance(first, nodes.Variable) and first.names
        ):
            return self._path(first, arguments, dot, final, piped=piped)
        if arguments or piped:
            self._fault(command.line, f"can't give argument to non-function {first}")
        if isinstance(first, nodes.Nil):
            self._fault(command.line, "nil is not a command")
        return self._operand(first, dot)

    def _operand(self, operand: nodes.Operand, dot: _Known) -> _Known:  # noqa: PLR0911 - one kind each
        match operand:
            case nodes.Dot():
                return dot
            case nodes.Constant():
                return BOOL if isinstance(operand.value, bool) else STRING
            case nodes.Numeral():
                value = ideal(operand)
                if value is None:
                    self._fault(operand.line, f"{operand} overflows int")
                return None if value is None else value.type
            case nodes.Variable() if not operand.names:
                return self._variable(operand.name)
            case nodes.FieldPath() | nodes.Chain() | nodes.Variable():
                return self._path(operand, (), dot, None, piped=False)
            case nodes.Name():
                return self._function(operand, (), dot, None, piped=False)
            case nodes.Pipeline():
                return self._pipeline(operand, dot)
            case _:
                return None

    def _variable(self, name: str) -> _Known:
        return next((of for known, of in reversed(self._variables) if known == name), None)

    # fields and methods

    def _path(
        self,
        path: nodes.FieldPath | nodes.Chain | nodes.Variable,
        arguments: tuple[nodes.Operand, ...],
        dot: _Known,
        final: _Known,
        *,
        piped: bool,
    ) -> _Known:
        if isinstance(path, nodes.FieldPath):
            of = dot
        elif isinstance(path, nodes.Variable):
            of = self._variable(path.name)
        else:
            of = self._operand(path.term, dot)
        for name in path.names[:-1]:
            of = self._member(path.line, of, name, (), dot, None, piped=False)
        return self._member(path.line, of, path.names[-1], arguments, dot, final, piped=piped)

    def _member(  # noqa: PLR0917 - the parts of a call
        self,
        line: int,
        of: _Known,
        name: str,
        arguments: tuple[nodes.Operand, ...],
        dot: _Known,
        final: _Known,
        *,
        piped: bool,
    ) -> _Known:
        target = of.element if of is not None and of.kind is Kind.POINTER else of
        if of is None or target is None:
            for argument in arguments:
                self._operand(argument, dot)
            return None
        method = method_of(of, name)
        if method is not None:
            return self._call(line, method, arguments, dot, final, piped=piped)
        field = target.fields.get(name)
        if field is None and target.kind is Kind.MAP and target.key is STRING:
            self._key(line, target, name)
        elif field is None:
            self._fault(line, *unknown_member(of, name))
            return None
        if arguments or piped:
            self._fault(line, f"{name} has arguments but cannot be invoked as function")
        return field.type if field is not None else target.element

    def _key(self, line: int, of: Type, name: str) -> None:
        known = self._keys.get(of)
        if known is not None and name not in known.keys:
            otherwise = (
                f"there are {', '.join(known.keys)}"
                if known.keys
                else f"add it to {known.name}, or remove it"
            )
            remedy = did_you_mean(name, known.keys, otherwise)
            self._fault(line, f'{known.name} has no "{name}"', remedy, severe=False)

    # functions

    def _function(
        self,
        name: nodes.Name,
        arguments: tuple[nodes.Operand, ...],
        dot: _Known,
        final: _Known,
        *,
        piped: bool,
    ) -> _Known:
        function = self._functions.get(name.name)
        if function is None:  # reported by the parser
            for argument in arguments:
                self._operand(argument, dot)
            return None
        return self._call(name.line, function, arguments, dot, final, piped=piped)

    def _call(
        self,
        line: int,
        function: Function,
        arguments: tuple[nodes.Operand, ...],
        dot: _Known,
        final: _Known,
        *,
        piped: bool,
    ) -> _Known:
        wrong = wrong_count(function, len(arguments) + piped)
        if wrong:
            self._fault(line, wrong)
        given = [
            self._argument(parameter(function, at) if function.parameters else ANY, argument, dot)
            for at, argument in enumerate(arguments)
        ]
        if piped:
            given.append(final)
            if function.parameters:
                self._fits(line, final, parameter(function, len(arguments)))
        if wrong:
            return None if function.result is ANY else function.result
        if function.name in _COMPARISONS:
            self._compared(line, function.name, given)
        return self._result(line, function, arguments, given)

    def _argument(self, wanted: Type, operand: nodes.Operand, dot: _Known) -> _Known:
        if isinstance(operand, nodes.Nil):
            if wanted.kind not in NILLABLE:
                self._fault(operand.line, f"cannot assign nil to {wanted}")
            return None
        if isinstance(operand, nodes.Constant | nodes.Numeral) and wanted is not ANY:
            wrong = constant_data(operand, wanted)[1]
            if wrong:
                self._fault(operand.line, wrong)
            return wanted
        of = self._operand(operand, dot)
        self._fits(operand.line, of, wanted)
        return of

    def _fits(self, line: int, of: _Known, wanted: Type) -> None:
        if of is None or wanted is ANY or of is wanted:
            return
        if of.kind is Kind.POINTER and of.element is wanted:
            return
        remedy = "Go does not convert types implicitly"
        if wanted is STRING and method_of(of, "String"):
            remedy = "add .String to it"
        self._fault(line, f"wrong type for value; expected {wanted}; got {of}", remedy)

    def _compared(self, line: int, name: str, types: list[_Known]) -> None:
        first = types[0]
        if name not in {"eq", "ne"}:
            for of in types:
                if of is not None and of.kind not in _ORDERED:
                    self._fault(
                        line, f"invalid type for comparison: {of}", "only numbers and strings are ordered"
                    )
                    return
        for other in types[1:]:
            if first is None or other is None or {first.kind, other.kind} <= INTEGERS:
                continue
            if first.kind is not other.kind and {first.kind, other.kind} & _BASIC:
                texts = [of for of in (first, other) if method_of(of, "String")]
                remedy = f"compare the text: add .String to the {texts[0]}" if texts else _FIX
                self._fault(line, f"incompatible types for comparison: {first} and {other}", remedy)

    def _result(
        self, line: int, function: Function, arguments: tuple[nodes.Operand, ...], given: list[_Known]
    ) -> _Known:
        if function.result is not ANY:
            return function.result
        match function.name:
            case "and" | "or":
                return given[0] if len(set(given)) == 1 else None
            case "slice":
                return given[0]
            case "index":
                return self._indexed(line, arguments, given)
        return None

    def _indexed(self, line: int, arguments: tuple[nodes.Operand, ...], given: list[_Known]) -> _Known:
        of = given[0]
        for at, index in enumerate(given[1:], start=1):
            if of is not None and of.kind is Kind.POINTER:
                of = of.element
            if of is None:
                return None
            if of.kind is Kind.MAP and at < len(arguments):
                operand = arguments[at]
                if isinstance(operand, nodes.Constant) and isinstance(operand.value, str):
                    self._key(line, of, operand.value)
            if of.kind not in {Kind.MAP, Kind.SLICE, Kind.STRING}:
                self._fault(line, f"can't index item of type {of}", "index takes lists, maps and strings")
                return None
            if of.kind is not Kind.MAP and index is not None and index.kind not in INTEGERS:
                self._fault(line, f"cannot index slice/array with type {index}")
            of = UINT8 if of.kind is Kind.STRING else of.element
        return of
