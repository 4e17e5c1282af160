"""`warren explain`: what it prints, what it says of bad input, and with what it exits."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from warren.cli.explain import documents
from warren.cli.main import app
from warren.errors import WarrenError
from warren.evaluator.captures import CaptureError

DATA: Final = Path(__file__).parents[2] / "data"
CAPTURED: Final = DATA / "windows" / "captured.jsonl"
SLOW: Final = DATA / "burrow_api" / "captures" / "consumer_slow.json"
LINE: Final = (
    '{"id": "a", "window": [{"offset": 5, "timestamp": 0, "lag": 2}], "broker_ring": [7], "now_ms": 9000}'
)
STOPPED: Final = """\
STOP   a: lag 2, 1 of 1 commits, rule stopped
       The only commit is 9 s old, and the lag is 2; the lowest stored head 7 is above the last
       committed offset 5, so the consumer was not at the head a moment ago either.
       What would change it: One commit. With offset 7 or above the partition is OK at once; below
       that its window is judged again.
"""


@dataclass(frozen=True)
class Run:
    exit_code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


def run(*arguments: str | Path, stdin: str | bytes = "") -> Run:
    result = CliRunner().invoke(app, ["explain", *map(str, arguments)], input=stdin)
    if isinstance(result.exception, WarrenError):
        return Run(result.exception.exit_code, result.stdout, str(result.exception))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return Run(result.exit_code, result.stdout, result.stderr)


def test_a_person_reads_the_verdict_and_its_reason() -> None:
    assert run(stdin=LINE) == Run(0, STOPPED, "")
    assert run("-", stdin=LINE) == Run(0, STOPPED, "")


def test_an_answer_of_the_api_by_partition_with_a_summary() -> None:
    found = run(SLOW, "--rules", "caching")

    assert found.exit_code == 0
    assert [line for line in found.out.splitlines() if not line.startswith(" ")] == [
        *(f"WARN   slow on orders/{at}: lag 290, 10 of 10 commits, rule falling_behind" for at in range(3)),
        "3 partitions: 3 WARN",
    ]


def test_an_answer_is_judged_by_warren_s_default_rules() -> None:
    first, *_ = run(SLOW, "--json").objects

    assert (first["status"], first["rule"]) == ("WARN", "growing")
    assert first["because"] == (
        "The offsets move from 235 to 262, but over 10 commits the lag rises along a line, from 141 to 261: 84% of "
        "what comes in stays unread. It is 290 now."
    )


def test_json_has_one_object_per_partition() -> None:
    found = run(SLOW, "--json", "--rules", "caching")

    assert found.objects[0] == {
        "group": "slow",
        "topic": "orders",
        "partition": 0,
        "status": "WARN",
        "current_lag": 290,
        "complete": 1.0,
        "rule": "falling_behind",
        "because": "The offsets move from 235 to 262, but over 10 commits the lag never shrinks: "
        "141, 154, 167, 180, 193, 222, 235, 248, 261, 274, and 290 now.",
        "decided_by": [*range(10)],
        "would_change": "One commit with a lag below 274. STOP, when no commit comes for more than another "
        "19.831 s.",
    }
    assert [one["partition"] for one in found.objects] == [0, 1, 2]


def test_all_captured_windows_have_burrows_verdict() -> None:
    expected = [json.loads(line) for line in CAPTURED.read_text().splitlines()]

    found = run(CAPTURED, "--json")

    assert found.exit_code == 0
    fields = ("id", "status", "current_lag", "complete")
    assert [[one[name] for name in fields] for one in found.objects] == [
        [one[name] for name in fields] for one in expected
    ]
    assert set(found.objects[0]) == {*fields, "rule", "because", "decided_by", "would_change"}


def test_now_can_be_given_in_milliseconds_and_as_a_date() -> None:
    line = '{"id": "a", "window": [{"offset": 5, "timestamp": 1794729799000}], "broker_ring": [7]}'

    for moment in (
        "1794729810000",
        "2026-11-15T08:03:30Z",
        "2026-11-15T08:03:30",
        "2026-11-15T09:03:30+01:00",
    ):
        assert "is 11 s old" in run("--now", moment, stdin=line).out
    assert run("--now", "noon", stdin=line).exit_code == 2


def test_settings_for_input_that_does_not_say_them() -> None:
    line = LINE.replace(', "now_ms"', ', "intervals": 4, "now_ms"')

    assert run("--json", "--allowed-lag", "2", stdin=line).objects[0]["rule"] == "no_lag_now"
    assert run("--json", "--minimum-complete", "0.5", stdin=line).objects[0]["rule"] == "too_few_commits"


@dataclass(frozen=True)
class Bad:
    name: str
    text: str
    says: list[str]
    # how many partitions are explained all the same
    explained: int


BAD = [
    Bad("a word", "x\n", ["line 1: not JSON: expecting value, column 1"], 0),
    Bad("between good lines", f"{LINE}\n{{]\n{LINE}\n", ["line 2: not JSON"], 2),
    Bad("cut off in the middle", f"{LINE}\n{LINE[:40]}\n{LINE}\n", ["line 2: not JSON"], 2),
    Bad("cut off at the end", f"{LINE}\n{LINE[:-1]}", ["line 2: not JSON: expecting ',' delimiter"], 1),
    Bad("a wrong field", f'{{"id": 1, "window": 2}}\n{LINE}\n', ["line 1: Expected `array | null`"], 1),
    Bad("a long value that breaks off", '{\n "id": 1,\n "window":\n', ["line 3: not JSON"], 0),
    Bad("blank lines count", f"\n\n{LINE}\n\nx\n", ["line 5: not JSON"], 1),
    Bad("in a list", f"[{LINE}, 7, {LINE}]", ["line 1: an object was expected, not a number"], 2),
    Bad("two problems", "x\ny\n", ["line 1: not JSON", "line 2: not JSON"], 0),
    Bad(
        "not the answer it should be",
        '{"error": true, "message": "gone"}',
        ["line 1: the response is an error: gone"],
        0,
    ),
]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_bad_input_is_reported_by_line_and_the_rest_explained(bad: Bad) -> None:
    found = run("--json", stdin=bad.text)

    assert found.exit_code == 2
    problems = found.err.splitlines()
    assert len(problems) == len(bad.says)
    for problem, says in zip(problems, bad.says, strict=True):
        assert problem.startswith(f"standard input, {says}")
    assert len(found.objects) == bad.explained


def test_nothing_to_explain_is_said() -> None:
    assert run(stdin="") == Run(2, "", "standard input has nothing to explain")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "nowhere.json"

    found = run(missing)

    assert found.exit_code == 2
    assert found.err.startswith(f"cannot read {missing}: No such file")


def test_bytes_that_are_no_text_are_no_crash() -> None:
    found = run("--json", stdin=b"\xff\xfe\x00\n" + LINE.encode())

    assert (found.exit_code, len(found.objects)) == (2, 1)


def test_a_byte_order_mark_is_no_fault() -> None:
    assert run(stdin=b"\xef\xbb\xbf" + LINE.encode()) == Run(0, STOPPED, "")


def test_answers_one_after_the_other_as_people_print_them() -> None:
    pretty = json.dumps(json.loads(SLOW.read_text()), indent=2)

    found = run("--json", stdin=f"{pretty}\n{pretty}\n\n{LINE}\n")

    assert (found.exit_code, len(found.objects)) == (0, 7)


def test_a_reader_who_has_seen_enough_is_no_error() -> None:
    explaining = subprocess.Popen(
        [sys.executable, "-m", "warren.cli.main", "explain", str(CAPTURED), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert explaining.stdout is not None
    assert explaining.stderr is not None
    with explaining:
        explaining.stdout.readline()
        explaining.stdout.close()
        assert explaining.stderr.read() == b""
    assert explaining.returncode == 0


def test_lines_are_explained_as_they_come() -> None:
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "warren.cli.main", "explain", "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    ) as explaining:
        assert explaining.stdin is not None
        assert explaining.stdout is not None
        explaining.stdin.write(f"{LINE}\n")
        explaining.stdin.flush()
        # standard input is still open
        assert json.loads(explaining.stdout.readline())["status"] == "STOP"
        explaining.stdin.close()
    assert explaining.returncode == 0


def test_the_help_has_examples() -> None:
    out = run("--help").out

    assert "/v3/kafka/local/consumer/billing" in out
    assert "warren explain windows.jsonl --json" in out


values: st.SearchStrategy[Any] = st.dictionaries(
    st.text(max_size=4),
    st.none() | st.integers() | st.text(max_size=5) | st.lists(st.integers(), max_size=3),
    max_size=3,
)


@given(st.lists(st.tuples(values, st.sampled_from([None, 1, 4]), st.integers(0, 2)), max_size=6))
def test_documents_are_found_however_they_are_laid_out(laid: list[tuple[Any, int | None, int]]) -> None:
    text = "".join(json.dumps(value, indent=indent) + "\n" * (1 + blank) for value, indent, blank in laid)

    found = [value for _, value in documents(text.splitlines(keepends=True))]

    assert found == [value for value, _, _ in laid]


@given(st.text(alphabet='{}[]":,x1 \n', max_size=40))
def test_any_text_ends_in_values_or_faults(text: str) -> None:
    for number, value in documents(text.splitlines(keepends=True)):
        assert 1 <= number <= text.count("\n") + 1
        assert isinstance(value, CaptureError) or json.dumps(value)
