"""Jinja2 for new templates: the same data under Python's names, in a sandbox."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import wraps
from itertools import chain
from typing import Any, Final

import msgspec
from jinja2 import Environment, StrictUndefined, TemplateSyntaxError, nodes, pass_environment
from jinja2.compiler import CodeGenerator, Frame
from jinja2.exceptions import SecurityError, TemplateRuntimeError, UndefinedError
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.filters import do_indent, do_wordwrap
from jinja2.meta import find_undeclared_variables
from jinja2.sandbox import ImmutableSandboxedEnvironment

from warren.common.status import Status
from warren.gotemplate.errors import TemplateError
from warren.gotemplate.escapes import json_string, json_text
from warren.gotemplate.fmt import MAX_TEXT
from warren.gotemplate.nodes import Fault
from warren.gotemplate.types import Type, Value
from warren.notifier.message import Message
from warren.notifier.templates import helpers
from warren.notifier.templates.binding import GROUP, OFFSET, PARTITION
from warren.snapshot.model import Entry, GroupStatus, PartitionFields, PartitionStatus
from warren.spelling import did_you_mean

# rounds of all loops over numbers in one rendering
_MAX_ROUNDS: Final = 100_000
_MAX_WIDTH: Final = 9999
# bits of an integer: one multiplication of huge ones holds up all threads
_MAX_BITS: Final = 4096
# filters of Jinja2 that make a text as long as they are told
_SIZED_FILTERS: Final = ("batch", "center", "indent", "round", "slice", "tojson", "wordwrap")
# a width in a field of str.format, or one that is a field itself; of a text without its doubled braces
_WIDE_FIELD: Final = re.compile(r"\{[^{}:]*:[^{}]*?(?:\d{5}|\{)")
# a width after %, or a key with parentheses in it, behind which one could be
_WIDE_PERCENT: Final = re.compile(
    r"%(?:\([^()]*(?:\)|(?P<nested>\()))?(?(nested)|[-#+ .0-9]*(?:[0-9]{5}|\*))"
)
_FIX: Final = "correct the template"


class StatusText(str):
    """A status by its name, with Burrow's number beside it."""

    __slots__ = ("number",)
    number: int

    @classmethod
    def of(cls, status: Status) -> StatusText:
        text = cls(status.name)
        text.number = int(status)
        return text


class PartitionView(PartitionFields[StatusText, float], frozen=True, kw_only=True):
    """One partition that is not OK, or the one with the greatest lag."""

    _source: PartitionStatus

    @classmethod
    def of(cls, one: PartitionStatus) -> PartitionView:
        return cls(**msgspec.structs.asdict(one) | {"status": StatusText.of(one.status)}, _source=one)


@dataclass(frozen=True)
class ResultView:
    """The verdict on the group."""

    cluster: str
    group: str
    status: StatusText
    complete: float
    partitions: tuple[PartitionView, ...]
    partition_count: int
    maxlag: PartitionView | None
    totallag: int
    _source: GroupStatus

    @classmethod
    def of(cls, group: GroupStatus) -> ResultView:
        return cls(
            cluster=group.cluster,
            group=group.group,
            status=StatusText.of(group.status),
            complete=group.complete,
            partitions=tuple(PartitionView.of(one) for one in group.partitions),
            partition_count=group.partition_count,
            maxlag=None if group.maxlag is None else PartitionView.of(group.maxlag),
            totallag=group.totallag,
            _source=group,
        )


# type: the names that may follow it and a point; those that are not here are not looked into
_ATTRIBUTES: Final[Mapping[type, frozenset[str]]] = {
    ResultView: frozenset(field.name for field in fields(ResultView)) - {"_source"},
    PartitionView: frozenset(PartitionFields.__struct_fields__),
    Entry: frozenset(Entry.__struct_fields__),
}
# attribute of a type: its type, where it is one of the above; a list for lists of them
_TYPES: Final[Mapping[tuple[type, str], type | list[type]]] = {
    (ResultView, "partitions"): [PartitionView],
    (ResultView, "maxlag"): PartitionView,
    (PartitionView, "start"): Entry,
    (PartitionView, "end"): Entry,
}


def context(message: Message, extras: Mapping[str, str]) -> dict[str, object]:
    """What a template sees."""
    start = None
    if message.start_ms is not None:
        start = datetime.fromtimestamp(message.start_ms / 1000, UTC).astimezone()
    return {
        "cluster": message.result.cluster,
        "group": message.result.group,
        "id": message.incident,
        "kind": message.kind,
        "start": start,
        "link": message.link,
        "extras": dict(extras),
        "result": ResultView.of(message.result),
    }


_NAMES: Final = ("cluster", "group", "id", "kind", "start", "link", "extras", "result")


def jsonencoder(value: object) -> str:
    """JSON as Burrow's helper of that name writes it."""
    shapes: tuple[tuple[type, Type], ...] = ((ResultView, GROUP), (PartitionView, PARTITION), (Entry, OFFSET))
    for view, shape in shapes:
        if isinstance(value, view):
            return json_text(Value(shape, getattr(value, "_source", value)))
    if isinstance(value, str):
        return json_string(value)
    if isinstance(value, datetime):
        return json_string(value.isoformat())
    if isinstance(value, Mapping):
        items = sorted((str(key), item) for key, item in value.items())
        return "{" + ",".join(f"{json_string(key)}:{jsonencoder(item)}" for key, item in items) + "}"
    if isinstance(value, Iterable):
        return "[" + ",".join(jsonencoder(item) for item in value) + "]"
    return json.dumps(value)


def _sources(partitions: Iterable[PartitionView]) -> list[PartitionStatus]:
    return [one._source for one in partitions]


def _of_numbers(calculate: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """With texts and lists Python would go on, and make one that fills the memory."""

    def calculated(left: Any, right: Any) -> Any:
        if not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise SecurityError("this is for numbers only")
        return _moderate(calculate(_moderate(left), _moderate(right)))

    return calculated


def _moderate(number: Any) -> Any:
    """The number, if it is not too large."""
    if isinstance(number, int) and number.bit_length() > _MAX_BITS:
        raise SecurityError(f"a number of more than {_MAX_BITS} bits")
    return number


def _divide(dividend: int, divisor: int) -> int:
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


_HELPERS: Final[Mapping[str, Callable[..., Any]]] = {
    "jsonencoder": jsonencoder,
    "topicsbystatus": lambda partitions: helpers.topicsbystatus(_sources(partitions)),
    "partitioncounts": lambda partitions: helpers.partitioncounts(_sources(partitions)),
    "maxlag": lambda partition: 0 if partition is None else partition.current_lag,
    "formattimestamp": helpers.formattimestamp,
    "add": _of_numbers(operator.add),
    "minus": _of_numbers(operator.sub),
    "multiply": _of_numbers(operator.mul),
    "divide": _of_numbers(_divide),
}


class _CodeGenerator(CodeGenerator):
    """Jinja2's own, but that `a ~ b` is joined by the environment."""

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802 - Jinja2's name
        self.write("environment.concat((")
        for each in node.nodes:
            self.write("str(")
            self.visit(each, frame)
            self.write("), ")
        self.write("))")


def _joined(parts: Iterable[str]) -> str:
    """Of a bounded length: whoever doubles a text in a loop fills the memory after thirty rounds."""
    return "".join(_limited(parts))


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox where neither arithmetic nor text can fill the memory."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})
    code_generator_class = _CodeGenerator
    # for what {% set %}, macros and blocks gather, and for ~
    concat = staticmethod(_joined)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        numbers = isinstance(left, int | float) and isinstance(right, int | float)
        if operator == "+" and not numbers:
            if len(left) + len(right) > (MAX_TEXT if isinstance(left, str) else _MAX_ROUNDS):
                raise SecurityError("+ makes something too long here")
        elif not numbers or (operator == "**" and abs(right) > 100):
            raise SecurityError(f"{operator} is for small numbers only here")
        return _moderate(super().call_binop(context, operator, _moderate(left), _moderate(right)))

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """str.format and str.format_map when a template looks them up; None: it is something else."""
        found = super().wrap_str_format(value)
        if found is not None and _WIDE_FIELD.search(value.__self__.replace("{{", "").replace("}}", "")):
            raise SecurityError(f"a width of more than {_MAX_WIDTH}")
        return found

    def call(self, context: Any, function: Any, /, *args: Any, **named: Any) -> Any:
        text = getattr(function, "__self__", None)
        if isinstance(text, str | bytes):
            _check_sizes((*args, *named.values()))
            if function.__name__ == "join" and args:
                args = (list(args[0]), *args[1:])
            _check_length(_length(text, function.__name__, args))
        return super().call(context, function, *args, **named)


def _length(text: str | bytes, method: str, args: tuple[Any, ...]) -> int:
    """How long the result of a method of a text may be, where that can be more than the text and a width."""
    match method, args:
        case "replace", (str() | bytes() as old, str() | bytes() as new, *_):
            return len(text) + text.count(old) * len(new)  # type: ignore[arg-type]
        case "join", (list() as parts, *_):
            return len(text) * len(parts) + sum(len(each) for each in parts if isinstance(each, str | bytes))
        case "expandtabs", (int() as size, *_):
            return len(text) + text.count("\t" if isinstance(text, str) else b"\t") * size  # type: ignore[arg-type]
        case "translate", (dict() as table, *_):
            return len(text) * max((len(each) for each in table.values() if isinstance(each, str)), default=1)
    return 0


def _check_sizes(arguments: Iterable[object]) -> None:
    """Widths and counts that would fill the memory."""
    if any(isinstance(one, int) and one > _MAX_WIDTH for one in arguments):
        raise SecurityError(f"a width of more than {_MAX_WIDTH}")


def _check_length(length: int) -> None:
    if length > MAX_TEXT:
        raise SecurityError(f"a text of more than {MAX_TEXT} characters")


def _modest(filter_: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(filter_)
    def checked(*args: Any, **named: Any) -> Any:
        _check_sizes((*args, *named.values()))
        return filter_(*args, **named)

    return checked


def _replace(text: object, old: str, new: str, count: int | None = None) -> str:
    """Jinja2's own, within bounds."""
    whole = str(text)
    _check_length(_length(whole, "replace", (old, new)))
    return whole.replace(old, new, -1 if count is None else count)


def _indent(text: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    """Jinja2's own, within bounds."""
    step = width if isinstance(width, int) else len(width)
    _check_length(len(text) + (len(text.splitlines()) + 1) * step)
    return do_indent(text, width, first, blank)


@pass_environment
def _wordwrap(  # noqa: PLR0917 - Jinja2's arguments
    environment: Environment,
    text: str,
    width: int = 79,
    break_long_words: bool = True,
    wrapstring: str | None = None,
    break_on_hyphens: bool = True,
) -> str:
    """Jinja2's own, within bounds."""
    _check_length(len(text) * (1 + len(wrapstring or "")))
    return do_wordwrap(environment, text, width, break_long_words, wrapstring, break_on_hyphens)


def _join(value: Iterable[object], d: str = "", attribute: str | None = None) -> str:
    """Jinja2's own, within bounds."""
    parts = list(value)
    if attribute is not None:
        parts = [_ENVIRONMENT.getattr(each, attribute) for each in parts]
    texts = [str(each) for each in parts]
    return _joined(chain.from_iterable((d, each) if at else (each,) for at, each in enumerate(texts)))


def _format(form: str, *args: Any, **named: Any) -> str:
    """Jinja2's own, with widths that a text may have."""
    if _WIDE_PERCENT.search(form):
        raise SecurityError(f"a width of more than {_MAX_WIDTH}")
    return form % (named or args)


def _environment() -> _Environment:
    # the texts are JSON, mail and addresses, not HTML
    environment = _Environment(
        undefined=StrictUndefined,
        autoescape=False,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        format=_format, indent=_indent, join=_join, replace=_replace, wordwrap=_wordwrap
    )
    for name in _SIZED_FILTERS:
        environment.filters[name] = _modest(environment.filters[name])
    del environment.globals["lipsum"]
    environment.globals.update(_HELPERS)
    environment.filters.update(_HELPERS)
    return environment


_ENVIRONMENT: Final = _environment()


@dataclass(frozen=True)
class JinjaProgram:
    """A template that can be rendered."""

    name: str
    source: str

    def __post_init__(self) -> None:
        found = next((fault for fault in syntax_faults(self.source)), None)
        if found:
            raise TemplateError(self.name, found.line, found.what, found.remedy)

    def render(self, message: Message, extras: Mapping[str, str]) -> str:
        template = _ENVIRONMENT.from_string(self.source)
        data = {**context(message, extras), "range": _counted(_MAX_ROUNDS)}
        try:
            return "".join(_limited(template.generate(data)))
        except Exception as error:
            # a template may do anything that Python can refuse: all of it is the template's mistake
            what, remedy = _reply(error)
            raise TemplateError(self.name, _line(error), what, remedy) from error


def _counted(rounds: int) -> Callable[..., Iterator[int]]:
    """A range() that ends after so many rounds, however often it is called."""
    left = rounds

    def counted(*bounds: int) -> Iterator[int]:
        nonlocal left
        for number in range(*bounds):
            left -= 1
            if left < 0:
                raise TemplateRuntimeError(f"more than {rounds} rounds of loops")
            yield number

    return counted


def _limited(parts: Iterable[str]) -> Iterator[str]:
    size = 0
    for part in parts:
        size += len(part)
        if size > MAX_TEXT:
            raise TemplateRuntimeError(f"the text is longer than {MAX_TEXT} characters")
        yield part


def _reply(error: Exception) -> tuple[str, str]:
    if isinstance(error, UndefinedError):
        return str(error), f"known are {', '.join(_NAMES)}"
    return str(error) or type(error).__name__, _FIX


def _line(error: BaseException) -> int | None:
    """Jinja2 puts the template's own lines into the traceback."""
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def syntax_faults(source: str) -> list[Fault]:
    """What Jinja2 itself refuses: the first of it."""
    try:
        _ENVIRONMENT.from_string(source)
    except TemplateSyntaxError as error:
        return [Fault(error.lineno, error.message or "not a template", _FIX)]
    except (JinjaError, RecursionError) as error:
        return [Fault(1, str(error), _FIX)]
    return []


def faults(source: str, extras: Sequence[str]) -> list[Fault]:
    """Everything that is wrong and can be seen without rendering."""
    found = syntax_faults(source)
    if found:
        return found
    tree = _ENVIRONMENT.parse(source)
    known = {*_NAMES, *_ENVIRONMENT.globals}
    for name in sorted(find_undeclared_variables(tree) - set(_NAMES)):
        line = min((node.lineno for node in tree.find_all(nodes.Name) if node.name == name), default=1)
        remedy = did_you_mean(name, known, f"known are {', '.join(_NAMES)}")
        found.append(Fault(line, f'"{name}" is not defined', remedy))
    found += _Types(tree, extras).faults
    return sorted(found, key=lambda fault: fault.line)


class _Types:
    """Looks at attributes of values whose type can be told."""

    def __init__(self, tree: nodes.Template, extras: Sequence[str]) -> None:
        self.faults: list[Fault] = []
        self._extras = extras
        self._names: dict[str, type | list[type] | None] = {"result": ResultView}
        for name in {one.name for one in tree.find_all(nodes.Name) if one.ctx in {"store", "param"}}:
            self._names[name] = None
        # a loop's variable has the type of the list's items, when it is nothing else elsewhere
        for loop in tree.find_all(nodes.For):
            of = self._type(loop.iter)
            if isinstance(loop.target, nodes.Name) and isinstance(of, list):
                stores = [
                    one
                    for one in tree.find_all(nodes.Name)
                    if one.name == loop.target.name and one.ctx in {"store", "param"}
                ]
                if len(stores) == 1:
                    self._names[loop.target.name] = of[0]
        for node in tree.find_all(nodes.Getattr):
            self._evaluate_cluster(node)

    def _type(self, node: nodes.Node) -> type | list[type] | None:
        if isinstance(node, nodes.Name):
            return self._names.get(node.name)
        if isinstance(node, nodes.Getattr):
            of = self._type(node.node)
            return _TYPES.get((of, node.attr)) if isinstance(of, type) else None
        return None

    def _evaluate_cluster(self, node: nodes.Getattr) -> None:
        if isinstance(node.node, nodes.Name) and node.node.name == "extras" and "extras" not in self._names:
            if node.attr not in self._extras and not hasattr(dict, node.attr):
                remedy = did_you_mean(node.attr, self._extras, "add it to extras, or leave it out")
                self.faults.append(Fault(node.lineno, f'extras has no "{node.attr}"', remedy))
            return
        of = self._type(node.node)
        known = _ATTRIBUTES.get(of) if isinstance(of, type) else None
        if known is not None and node.attr not in known:
            remedy = did_you_mean(node.attr, known, f"it has {', '.join(sorted(known))}")
            self.faults.append(Fault(node.lineno, f'there is no "{node.attr}" here', remedy))
