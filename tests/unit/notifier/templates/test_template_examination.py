"""Mistakes are found before anything is sent: where, what, and what would be right."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from warren.common.status import Status
from warren.config.modules import EmailNotifier, HttpNotifier, NullNotifier, SlackNotifier
from warren.config.problems import Problem
from warren.config.settings import AnyNotifier, Settings
from warren.notifier.templates import TemplateError, examine, load_template, sample


def _http(**more: object) -> HttpNotifier:
    return HttpNotifier.model_validate({"url_open": "http://hooks.example.com/", **more})


def _problems(module: AnyNotifier) -> list[Problem]:
    return examine(Settings(notifier={"n": module}))


def _of_file(directory: Path, text: str, name: str = "open.tmpl", **more: object) -> list[Problem]:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return _problems(_http(template_open=str(path), **more))


class Case(NamedTuple):
    name: str
    text: str
    # shape: (line, part of what, part of the remedy)
    faults: list[tuple[int, str, str]]


CASES = [
    Case("field", "\n{{.Result.Sttus}}", [(2, "there is no field Sttus", "did you mean Status?")]),
    Case(
        "field of the data", "{{.Idd}}", [(1, "there is no field Idd in what the template is given", "ID?")]
    ),
    Case(
        "branch that no sample takes",
        '{{if eq .Group "x"}}\n{{.Result.Maxlag.Offset}}\n{{end}}',
        [(2, "there is no field Offset in *protocol.PartitionStatus", "it has Topic")],
    ),
    Case("else branch", "{{if true}}{{else}}{{.Nope}}{{end}}", [(1, "field Nope", "it has Cluster")]),
    Case("in a range", "{{range .Result.Partitions}}{{.Lag}}{{end}}", [(1, "field Lag", "CurrentLag")]),
    Case(
        "variable of a range",
        "{{range $p := .Result.Partitions}}{{$p.topic}}{{end}}",
        [(1, "field topic", "Topic?")],
    ),
    Case("in a with", "{{with .Result.Maxlag}}{{.Start.Of}}{{end}}", [(1, "field Of", "Offset")]),
    Case("method", "{{.Start.Unx}}", [(1, "field Unx in time.Time", "did you mean Unix?")]),
    Case("method that is left out", "{{.Start.Zone}}", [(1, "no field Zone in time.Time", "Format, String")]),
    Case(
        "function",
        "{{jsonencode .Result}}",
        [(1, 'function "jsonencode" not defined', "did you mean jsonencoder?")],
    ),
    Case(
        "variable",
        "{{$group := .Group}}{{$gruop}}",
        [(1, 'undefined variable "$gruop"', "did you mean $group?")],
    ),
    Case("argument count", "{{add 1}}", [(1, "wrong number of args for add: want 2 got 1", "")]),
    Case(
        "argument type", "{{add .Result.TotalLag 1}}", [(1, "expected int; got uint64", "does not convert")]
    ),
    Case("literal type", '{{add 1 "2"}}', [(1, 'expected integer; found "2"', "")]),
    Case(
        "status and text",
        '{{if eq .Result.Status "ERR"}}{{end}}',
        [(1, "incompatible types for comparison: protocol.StatusConstant and string", "add .String")],
    ),
    Case(
        "range over a text", "{{range .Group}}{{end}}", [(1, "range can't iterate over string", "not a list")]
    ),
    Case(
        "template", '{{define "row"}}{{end}}{{template "rwo"}}', [(1, 'template "rwo" not defined', "row?")]
    ),
    Case(
        "definition that nothing calls",
        '{{define "row"}}{{len 1 2}}{{end}}',
        [(1, "wrong number of args for len", "")],
    ),
    Case(
        "called with its own data",
        '{{define "r"}}\n{{.Nope}}{{end}}{{template "r" .Result}}',
        [(2, "field Nope", "")],
    ),
    Case("syntax", "a\n{{if .Group}}", [(2, "no {{end}} for the if of line 2", "add it")]),
    Case("unclosed", "{{.Group", [(1, "unclosed action", "text/template")]),
    Case(
        "all of them",
        "{{.A}}\n{{nosuch}}\n{{$x}}\n{{.Result.B}}",
        [(1, "field A", ""), (2, '"nosuch" not defined', ""), (3, '"$x"', ""), (4, "field B", "")],
    ),
    Case("only a sample shows it", "{{index .Result.Partitions 99}}", [(1, "index out of range: 99", "")]),
    Case("division", "{{divide 1 0}}", [(1, "integer divide by zero", "")]),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_mistakes(case: Case, tmp_path: Path) -> None:
    found = [problem for problem in _of_file(tmp_path, case.text) if problem.severity == "error"]
    assert len(found) == len(case.faults), found
    for problem, (line, what, remedy) in zip(found, case.faults, strict=True):
        assert problem.key == "notifier.n.template-open"
        assert f"{tmp_path / 'open.tmpl'}, line {line}: " in problem.what
        assert what in problem.what
        assert remedy in problem.remedy


GOOD = [
    "{{range $i, $p := .Result.Partitions}}{{if $i}},{{end}}{{$p.Topic}}{{end}}",
    "{{$worst := .Result.Maxlag}}{{with $worst}}{{.Topic}}{{end}}",
    "{{$n := 0}}{{range .Result.Partitions}}{{$n = add $n 1}}{{end}}{{$n}}",
    "{{range $status, $topics := topicsbystatus .Result.Partitions}}{{$status}}{{range $topics}}{{.}}{{end}}{{end}}",
    '{{(partitioncounts .Result.Partitions).warn}} {{index (partitioncounts .Result.Partitions) "stop"}}',
    '{{define "row"}}{{.Topic}}{{end}}{{range .Result.Partitions}}{{template "row" .}}{{end}}',
    '{{.Start.Format "2006"}} {{.Start.UTC.Unix}} {{.Result.Status.String | printf "%s"}}',
    "{{with .Result.Maxlag}}{{with .End}}{{with .Lag}}{{.Value}}{{end}}{{end}}{{end}}",
    "{{if and .ID (gt .Result.TotalLag 5)}}{{or .Group .Cluster}}{{end}}",
    "{{if eq .Result.Maxlag nil}}none{{end}}",
]


@pytest.mark.parametrize("text", GOOD)
def test_no_mistakes(text: str, tmp_path: Path) -> None:
    assert _of_file(tmp_path, text, send_close=True, url_close="http://hooks.example.com/{{.ID}}") == []


def test_extras_that_are_not_there_are_a_warning(tmp_path: Path) -> None:
    text = '{{.Extras.App}}{{.Extras.app}}{{index .Extras "tier"}}'
    found = _of_file(tmp_path, text, extras={"App": "x"})
    assert [(one.severity, one.remedy) for one in found] == [
        ("warning", "did you mean app?"),
        ("warning", "there are app"),
    ]


def test_values_that_may_be_missing_are_a_warning(tmp_path: Path) -> None:
    found = _of_file(tmp_path, "{{.Result.Maxlag.Topic}}")
    assert [one.severity for one in found] == ["warning"]
    assert "nil pointer evaluating *protocol.PartitionStatus.Topic" in found[0].what


def test_addresses_are_templates_too() -> None:
    found = _problems(
        _http(url_open="http://h.example.com/{{.Grup}}", url_close="http://h.example.com/{{.ID")
    )
    assert [(one.key, one.what) for one in found] == [
        ("notifier.n.url-open", "there is no field Grup in what the template is given"),
        ("notifier.n.url-close", "unclosed action"),
    ]


def test_a_threshold_decides_what_is_tried(tmp_path: Path) -> None:
    text = "{{(index .Result.Partitions 0).Topic}}"
    assert _of_file(tmp_path, text) == []
    assert [one.severity for one in _of_file(tmp_path, text, threshold=1)] == ["error"]


def _mail(path: Path) -> EmailNotifier:
    return EmailNotifier.model_validate(
        {
            "server": "mail.example.com",
            "from_": "a@example.com",
            "to": "b@example.com",
            "template_open": str(path),
        }
    )


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("hello {{.Group}}", True),
        ("X-A: b\nSubject: {{.Group}}\n\nhello", True),
        ("\nSubject: late", True),
        ("Subject: {{.Group}}\n\nhello", False),
        ("{{- /* who reads it */ -}}\nsubject: {{.Group}}", False),
    ],
)
def test_a_mail_without_subject(text: str, *, refused: bool, tmp_path: Path) -> None:
    path = tmp_path / "mail.tmpl"
    path.write_text(text, encoding="utf-8")
    found = [(one.severity, one.what) for one in _problems(_mail(path))]
    assert found == [("error", f"{path}, line 1: the mail does not begin with a subject")] * refused


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    found = _problems(NullNotifier(template_open=str(tmp_path / "gone.tmpl")))
    assert [(one.key, one.severity) for one in found] == [("notifier.n.template-open", "error")]
    with pytest.raises(TemplateError, match="cannot be read"):
        load_template(str(tmp_path / "gone.tmpl"), "")


def test_modules_without_templates_have_no_mistakes() -> None:
    slack = SlackNotifier.model_validate({"webhook_url": "https://hooks.example.com/x"})
    assert examine(Settings(notifier={"a": _http(), "b": NullNotifier(), "c": slack})) == []


@pytest.mark.parametrize("status", Status)
def test_samples(status: Status) -> None:
    message = sample(status, "ops", "open")
    assert message.result.status is min(status, Status.ERR)
    assert all(one.status is not Status.OK for one in message.result.partitions)
    assert bool(message.incident) is (status > Status.OK)
    if status > Status.ERR:
        assert status in {one.status for one in message.result.partitions}
    closed = sample(status, "ops", "close")
    assert (closed.result.status, closed.result.partitions, bool(closed.incident)) == (Status.OK, (), True)
