"""The parser: from tokens to a tree."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from typing import Final, NoReturn, TypeVar

from warren.gotemplate import nodes
from warren.gotemplate.literals import LiteralError, number, unquote
from warren.gotemplate.tokens import Mark, Token, tokens
from warren.spelling import did_you_mean

# maximum nesting of operands and branches: more is a mistake, and would exhaust Python's stack
_MAX_DEPTH: Final = 100
_OPERANDS: Final = frozenset(
    {Mark.BOOL, Mark.DOT, Mark.FIELD, Mark.NAME, Mark.NUMBER, Mark.OPEN, Mark.STRING, Mark.VARIABLE}
)
_LITERALS: Final = (nodes.Constant, nodes.Numeral, nodes.Nil, nodes.Dot)
_T = TypeVar("_T")
_SYNTAX: Final = "correct the template; the syntax is that of Go's text/template"


class _Stop(Exception):  # noqa: N818 - ends the parsing, the fault is in the tree
    pass


def parse(name: str, text: str, functions: Collection[str]) -> nodes.Tree:
    """The tree with its faults; a syntax error ends the parsing, unknown names do not."""
    tree = nodes.Tree(name)
    parser = _Parser(tree, text, functions)
    with contextlib.suppress(_Stop):
        parser.run()
    return tree


class _Parser:
    def __init__(self, tree: nodes.Tree, text: str, functions: Collection[str]) -> None:
        self._tree = tree
        self._functions = functions
        self._tokens: Iterator[Token] = tokens(text)
        self._ahead: list[Token] = []
        self._variables = ["$"]
        self._ranges = 0
        self._depth = 0
        self._action_line = 0

    def run(self) -> None:
        body: list[nodes.Node] = []
        while self._peek().mark is not Mark.END:
            token = self._next()
            if token.mark is Mark.LEFT:
                self._action_line = token.line
                if self._peek_non_space().text == "define" and self._peek_non_space().mark is Mark.KEYWORD:
                    self._definition()
                    continue
            found = self._node(token)
            if isinstance(found, str):
                self._stop(self._action_line, f"unexpected {{{{{found}}}}}", "there is no open block")
            else:
                body.append(found)
        self._add(self._tree.name, tuple(body), 1)

    # tokens

    def _next(self) -> Token:
        token = self._ahead.pop() if self._ahead else next(self._tokens)
        if token.mark is Mark.FAULT:
            self._stop(token.line, token.text, _SYNTAX)
        if token.mark is Mark.END:
            self._ahead.append(token)
        return token

    def _back(self, token: Token) -> None:
        if token.mark is not Mark.END:
            self._ahead.append(token)

    def _peek(self) -> Token:
        token = self._next()
        self._back(token)
        return token

    def _next_non_space(self) -> Token:
        """The next token that is not space."""
        token = self._next()
        while token.mark is Mark.SPACE:
            token = self._next()
        return token

    def _peek_non_space(self) -> Token:
        token = self._next_non_space()
        self._back(token)
        return token

    def _expect(self, mark: Mark, context: str) -> Token:
        token = self._next_non_space()
        if token.mark is not mark:
            self._unexpected(token, context)
        return token

    # faults

    def _fault(self, line: int, what: str, remedy: str) -> None:
        self._tree.faults.append(nodes.Fault(line, what, remedy))

    def _stop(self, line: int, what: str, remedy: str = _SYNTAX) -> NoReturn:
        self._fault(line, what, remedy)
        raise _Stop

    def _unexpected(self, token: Token, context: str) -> NoReturn:
        shown = token.text if token.mark is Mark.END else f'"{token.text[:20]}"'
        self._stop(token.line, f"unexpected {shown} in {context}")

    # nodes

    def _node(self, token: Token) -> nodes.Node | str:
        """A node, or the keyword ("end", "else") that ends the list."""
        if token.mark is Mark.TEXT:
            return nodes.Text(token.line, token.text)
        if token.mark is not Mark.LEFT:
            self._unexpected(token, "input")
        self._action_line = token.line
        first = self._next_non_space()
        if first.mark is Mark.KEYWORD and first.text != "nil":
            return self._control(first)
        self._back(first)
        return nodes.Action(first.line, self._pipeline("command", Mark.RIGHT))

    def _control(self, word: Token) -> nodes.Node | str:  # noqa: RET503 - the end raises
        match word.text:
            case "if" | "with" | "range":
                return self._branch(word.text, word.line)
            case "template":
                return self._call(word.line)
            case "block":
                return self._block(word.line)
            case "end":
                self._expect(Mark.RIGHT, "end")
                return "end"
            case "else":
                if self._peek_non_space().text not in {"if", "with"}:
                    self._expect(Mark.RIGHT, "else")
                return "else"
            case "break" | "continue":
                self._expect(Mark.RIGHT, word.text)
                if not self._ranges:
                    self._stop(
                        word.line, f"{{{{{word.text}}}}} outside {{{{range}}}}", "move it into a range"
                    )
                return nodes.Break(word.line) if word.text == "break" else nodes.Continue(word.line)
        self._unexpected(word, "command")

    def _list(self, context: str, line: int) -> tuple[tuple[nodes.Node, ...], str]:
        """The nodes up to the keyword that ends them."""
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            self._stop(line, "too many actions inside each other", "make it simpler")
        body: list[nodes.Node] = []
        while True:
            token = self._next()
            if token.mark is Mark.END:
                self._stop(
                    token.line,
                    f"unexpected end of the template: no {{{{end}}}} for the {context} of line {line}",
                    "add it",
                )
            found = self._node(token)
            if isinstance(found, str):
                self._depth -= 1
                return tuple(body), found
            body.append(found)

    def _branch(self, word: str, line: int) -> nodes.Node:
        known = len(self._variables)
        pipeline = self._pipeline(word, Mark.RIGHT)
        self._ranges += word == "range"
        body, end = self._list(word, line)
        self._ranges -= word == "range"
        otherwise: tuple[nodes.Node, ...] = ()
        if end == "else":
            following = self._peek_non_space()
            if following.mark is Mark.KEYWORD and following.text == word and word in {"if", "with"}:
                self._next_non_space()
                self._depth += 1
                if self._depth > _MAX_DEPTH:
                    self._stop(line, "too many actions inside each other", "make it simpler")
                otherwise = (self._branch(word, following.line),)
                self._depth -= 1
            else:
                otherwise, end = self._list(word, line)
                if end != "end":
                    self._stop(self._action_line, f"expected end; found {{{{{end}}}}}")
        del self._variables[known:]
        if word == "if":
            return nodes.If(line, pipeline, body, otherwise)
        if word == "with":
            return nodes.With(line, pipeline, body, otherwise)
        return nodes.Range(line, pipeline, body, otherwise)

    def _template_name(self, context: str) -> str:
        token = self._expect(Mark.STRING, context)
        return self._string(token)

    def _call(self, line: int) -> nodes.Node:
        name = self._template_name("template clause")
        token = self._next_non_space()
        if token.mark is Mark.RIGHT:
            return nodes.Call(line, name, None)
        self._back(token)
        return nodes.Call(line, name, self._pipeline("template clause", Mark.RIGHT))

    def _block(self, line: int) -> nodes.Node:
        name = self._template_name("block clause")
        pipeline = self._pipeline("block clause", Mark.RIGHT)
        self._inner(name, "block", line)
        return nodes.Call(line, name, pipeline)

    def _definition(self) -> None:
        line = self._next_non_space().line
        name = self._template_name("define clause")
        self._expect(Mark.RIGHT, "define clause")
        self._inner(name, "define", line)

    def _inner(self, name: str, word: str, line: int) -> None:
        """A nested template: it has no access to the variables and ranges of the enclosing one."""
        outer = self._variables, self._ranges
        self._variables, self._ranges = ["$"], 0
        body, end = self._list(word, line)
        if end != "end":
            self._stop(self._action_line, f"unexpected {{{{{end}}}}} in {word} clause")
        self._variables, self._ranges = outer
        self._add(name, body, line)

    def _add(self, name: str, body: tuple[nodes.Node, ...], line: int) -> None:
        empty = all(isinstance(node, nodes.Text) and not node.text.strip() for node in body)
        there = self._tree.templates.get(name)
        if there is not None and any(not (isinstance(n, nodes.Text) and not n.text.strip()) for n in there):
            if not empty:
                self._stop(line, f'multiple definition of template "{name}"', "give one of them another name")
            return
        self._tree.templates[name] = body

    # pipelines

    def _pipeline(self, context: str, end: Mark) -> nodes.Pipeline:
        line = self._peek_non_space().line
        variables, assigns = self._declarations(context)
        commands: list[nodes.Command] = []
        while True:
            token = self._next_non_space()
            if token.mark is end:
                break
            if token.mark not in _OPERANDS and not (token.mark is Mark.KEYWORD and token.text == "nil"):
                self._unexpected(token, context)
            self._back(token)
            commands.append(self._command())
        if not commands:
            self._stop(line, f"missing value for {context}")
        for stage, command in enumerate(commands[1:], start=2):
            if isinstance(command.operands[0], _LITERALS):
                self._stop(command.line, f"non executable command in pipeline stage {stage}")
        return nodes.Pipeline(line, tuple(variables), assigns, tuple(commands))

    def _declarations(self, context: str) -> tuple[list[str], bool]:
        """The variables before := or =, and whether it was the latter."""
        found: list[str] = []
        while True:
            token = self._next_non_space()
            if token.mark is not Mark.VARIABLE:
                self._back(token)
                return found, False
            after = self._next()
            sign = self._next_non_space() if after.mark is Mark.SPACE else after
            if sign.mark in {Mark.DECLARE, Mark.ASSIGN}:
                found.append(token.text)
                self._declare(found, token, assigns=sign.mark is Mark.ASSIGN)
                return found, sign.mark is Mark.ASSIGN
            if sign.mark is Mark.CHARACTER and sign.text == ",":
                found.append(token.text)
                if context != "range" or len(found) > 1:
                    self._stop(token.line, f"too many declarations in {context}")
                following = self._peek_non_space()
                if following.mark not in {Mark.VARIABLE, Mark.RIGHT, Mark.CLOSE}:
                    self._stop(following.line, "range can only initialize variables")
                continue
            self._back(sign)
            if after is not sign:
                self._back(after)
            self._back(token)
            return found, False

    def _declare(self, names: list[str], token: Token, *, assigns: bool) -> None:
        for name in names:
            if assigns and name not in self._variables:
                remedy = did_you_mean(name, self._variables, f"declare it first, with {name} := …")
                self._fault(token.line, f'undefined variable "{name}"', remedy)
            self._variables.append(name)

    def _command(self) -> nodes.Command:
        line = self._peek_non_space().line
        operands: list[nodes.Operand] = []
        while True:
            operand = self._operand()
            if operand is not None:
                operands.append(operand)
            token = self._next()
            if token.mark is Mark.SPACE:
                continue
            if token.mark in {Mark.RIGHT, Mark.CLOSE}:
                self._back(token)
            elif token.mark is not Mark.PIPE:
                self._unexpected(token, "operand")
            break
        if not operands:
            self._stop(line, "empty command")
        return nodes.Command(line, tuple(operands))

    def _operand(self) -> nodes.Operand | None:  # noqa: RET503 - the end raises
        term = self._term()
        if term is None or self._peek().mark is not Mark.FIELD:
            return term
        line = self._peek().line
        names: list[str] = []
        while self._peek().mark is Mark.FIELD:
            names.append(self._next().text[1:])
        if isinstance(term, nodes.FieldPath):
            return nodes.FieldPath(term.line, (*term.names, *names))
        if isinstance(term, nodes.Variable):
            return nodes.Variable(term.line, term.name, (*term.names, *names))
        if isinstance(term, nodes.Pipeline | nodes.Name):
            return nodes.Chain(line, term, tuple(names))
        self._stop(line, f'unexpected . after term "{term}"')

    def _term(self) -> nodes.Operand | None:  # noqa: C901, PLR0911 - one kind of operand each
        token = self._next_non_space()
        line, text = token.line, token.text
        match token.mark:
            case Mark.NAME:
                self._check_function(token)
                return nodes.Name(line, text)
            case Mark.DOT:
                return nodes.Dot(line)
            case Mark.KEYWORD if text == "nil":
                return nodes.Nil(line)
            case Mark.VARIABLE:
                if text not in self._variables:
                    remedy = did_you_mean(text, self._variables, f"declare it first, with {text} := …")
                    self._fault(line, f'undefined variable "{text}"', remedy)
                    self._variables.append(text)  # report it once only
                return nodes.Variable(line, text, ())
            case Mark.FIELD:
                return nodes.FieldPath(line, (text[1:],))
            case Mark.BOOL:
                return nodes.Constant(line, text == "true", text)
            case Mark.NUMBER:
                return nodes.Numeral(line, self._literal(number, token))
            case Mark.STRING:
                return nodes.Constant(line, self._string(token), text)
            case Mark.OPEN:
                self._depth += 1
                if self._depth > _MAX_DEPTH:
                    self._stop(line, "too many parentheses inside each other", "make it simpler")
                inner = self._pipeline("parenthesized pipeline", Mark.CLOSE)
                self._depth -= 1
                return inner
        self._back(token)
        return None

    def _check_function(self, token: Token) -> None:
        if token.text not in self._functions:
            remedy = did_you_mean(
                token.text, self._functions, f"known functions are {', '.join(sorted(self._functions))}"
            )
            self._fault(token.line, f'function "{token.text}" not defined', remedy)

    def _string(self, token: Token) -> str:
        return self._literal(unquote, token)

    def _literal(self, read: Callable[[str], _T], token: Token) -> _T:
        try:
            return read(token.text)
        except LiteralError as error:
            self._stop(token.line, f"{error} in {token.text[:40]}")
