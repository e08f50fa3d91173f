"""Output, reports and messages to the letter."""

import json

import pytest

from bmad_autopilot.gates.excerpts import MAX_EXCERPT, MAX_LINE, excerpt, plain, settle, stable
from bmad_autopilot.gates.failures import MAX_LOOKED_AT, Failure, FailureKind, kind_of
from bmad_autopilot.gates.objections import Kind, foul, listed, owes
from bmad_autopilot.gates.reports import MAX_TOLD, Check, CheckReport


@pytest.mark.parametrize(
    ("line", "settled"),
    [
        ("at 2026-01-02T03:04:05.123Z x", "at <time> x"),
        ("on 2026-01-02 x", "on <time> x"),
        ("at 12:30:01 PM x", "at <time> x"),
        ("took 1.5 seconds x", "took <span> x"),
        ("took 12ms x", "took <span> x"),
        ("id 550E8400-E29B-41D4-A716-446655440000 x", "id <id> x"),
        ("at 0x7F3A2B x", "at <address> x"),
        ("sha 0A1B2C3D4E5F6A7B x", "sha <id> x"),
        ("sha 0a1b2c3d4e5f x", "sha <id> x"),
        ("words deadbeefcafe x", "words deadbeefcafe x"),
        ("in /private/tmp/a/b.txt: x", "in <temporary>: x"),
        ("in /var/folders/a/b x", "in <temporary> x"),
        ("on localhost:40123 x", "on <port> x"),
        ("on 127.0.0.1:8080 x", "on <port> x"),
        ("by PID 811 x", "by <number> x"),
        ("with seed=42 x", "with <number> x"),
        ("[gw3] 50% x", "<progress> <progress> x"),
        ("==== failed ---- x", "<rule> failed <rule> x"),
        ("  many   blanks\t x ", "many blanks x"),
        ("src/a.py:3", "src/a.py:3"),
    ],
)
def test_what_stands_for_what_changes(line, settled):
    assert settle(line) == settled


def test_a_long_line_is_settled_by_its_start():
    assert settle("x" * MAX_LINE + "y") == settle("x" * MAX_LINE + "z") == "x" * MAX_LINE


@pytest.mark.parametrize("quiet", ["0 failed", "no errors", "--error-on-warnings", "12 passed", "NO ERROR"])
def test_a_line_that_tells_of_no_failure_tells_nothing(quiet):
    assert stable(f"{quiet}\nFAILED a") == "FAILED a"


def test_the_telling_lines_are_told_in_order_once():
    assert stable("FAILED b\nok\n\nFAILED a\nFAILED b") == "FAILED a\nFAILED b"


def test_where_nothing_tells_the_last_lines_count():
    lines = [f"line {number}x" for number in range(100)]
    assert stable("\n".join(lines)) == "\n".join(lines[-60:])


def test_an_excerpt_without_a_telling_line_is_the_end():
    lines = [f"line {number}" for number in range(100)]
    assert excerpt("\n".join(lines)) == "\n".join(lines[-60:])


def test_an_excerpt_shows_what_stands_around_the_first_failure():
    lines = [f"line {number}" for number in range(200)]
    lines[50] = lines[90] = "FAILED"
    shown = excerpt("\n".join(lines)).split("\n")
    assert shown == [*lines[46:58], "[…]", *lines[140:]]


def test_around_the_first_line_nothing_stands_before():
    lines = ["FAILED", *(f"line {number}" for number in range(100))]
    assert excerpt("\n".join(lines)).split("\n")[:9] == [*lines[:8], "[…]"]


def test_what_stands_around_ends_where_the_end_begins():
    lines = [f"line {number}" for number in range(100)]
    lines[38] = "FAILED"
    assert excerpt("\n".join(lines)).split("\n") == [*lines[34:40], "[…]", *lines[40:]]


def test_lines_and_ends_are_cut_to_the_letter():
    assert excerpt("x" * MAX_LINE) == "x" * MAX_LINE
    assert excerpt("x" * (MAX_LINE + 1)) == "x" * (MAX_LINE - 1) + "…"
    long = "\n".join("x" * 300 for _ in range(60))
    shown = excerpt(long)
    assert len(shown) == MAX_EXCERPT
    assert shown == "…" + long[len(long) - MAX_EXCERPT + 1 :]
    short = long[:MAX_EXCERPT]
    assert excerpt(short) == short


def test_a_long_head_is_cut_to_a_third():
    head = "\n".join("FAILED " + "x" * 390 for _ in range(10))
    shown = excerpt(head + "\n" + "\n".join("y" * 300 for _ in range(60)))
    first, _, rest = shown.partition("\n[…]\n")
    assert len(first) == MAX_EXCERPT // 3
    assert len(rest) == MAX_EXCERPT - MAX_EXCERPT // 3 - 10


def test_a_line_that_overwrote_itself_and_odd_characters():
    assert plain(b"a\rb\r\r\nc\td\n") == "b\nc\td\n"
    assert plain(b"a\r\nb") == "a\nb"
    assert plain(b"aX") == "aX"


def test_only_the_two_ends_of_a_long_output_are_looked_at():
    half = MAX_LOOKED_AT // 2
    sign = "\nNo space left on device\n"
    assert kind_of(1, sign + "x" * MAX_LOOKED_AT) is FailureKind.ENVIRONMENT
    assert kind_of(1, "x" * MAX_LOOKED_AT + sign) is FailureKind.ENVIRONMENT
    assert kind_of(1, "x" * half + sign + "x" * half) is FailureKind.CODE
    assert kind_of(0, "") is FailureKind.CODE
    assert kind_of(125, "") is FailureKind.CODE


def test_names_are_listed_shortly():
    assert listed(["a", "b"]) == "`a`, `b`"
    assert listed([str(n) for n in range(5)]) == "`0`, `1`, `2`, `3`, `4`"
    assert listed([str(n) for n in range(7)]) == "`0`, `1`, `2`, `3`, `4` and 2 more"
    assert listed(["a`b\n  c"]) == "`a'b c`"
    assert listed(["x" * 120]) == f"`{'x' * 120}`"
    assert listed(["x" * 121]) == f"`{'x' * 117}…`"
    assert owes("a", "b") == ("a", "b", Kind.OWES)
    assert foul("a", "b") == ("a", "b", Kind.FOUL)


FAILED = CheckReport(
    (Check("a", 0, 1.5, "01.log"), Check("b", 2, 0.5, "02.log"), Check("c", None, 3.0, "03.log")),
    (Failure("b", 2, FailureKind.CODE, "bad"), Failure("c", None, FailureKind.ENVIRONMENT, "slow")),
    "s1",
)


def test_a_report_tells_each_failure():
    assert FAILED.told == "$ b\n(exit code 2)\nbad\n\n$ c\n(was stopped at its time limit)\nslow"
    long = CheckReport(failures=(Failure("b", 2, FailureKind.CODE, "x" * 20_000),))
    assert len(long.told) == MAX_TOLD
    assert CheckReport().told == ""


def test_a_report_is_the_environments_only_where_all_failures_are():
    assert not FAILED.is_environment
    assert not CheckReport().is_environment
    assert FAILED._replace(failures=FAILED.failures[1:]).is_environment
    assert CheckReport().signature == ""


def test_a_report_is_kept_in_words_that_stay():
    assert json.loads(FAILED.to_json()) == {
        "checks": [
            {"command": "a", "exit": 0, "seconds": 1.5, "log": "01.log"},
            {"command": "b", "exit": 2, "seconds": 0.5, "log": "02.log"},
            {"command": "c", "exit": None, "seconds": 3.0, "log": "03.log"},
        ],
        "failures": [
            {"command": "b", "exit": 2, "kind": "code", "excerpt": "bad"},
            {"command": "c", "exit": None, "kind": "environment", "excerpt": "slow"},
        ],
        "signature": "s1",
    }
    assert CheckReport.from_json(FAILED.to_json()) == FAILED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"exit": 2', '"exit": true'),
        ('"exit": 2', '"exit": "2"'),
        ('"exit": 2', '"exit": 2.5'),
        ('"seconds": 1.5', '"seconds": true'),
        ('"seconds": 1.5', '"seconds": "1.5"'),
        ('"seconds": 1.5', '"seconds": null'),
        ('"signature": "s1"', '"signature": 1'),
        ('"signature": "s1"', '"mark": "s1"'),
        ('"log": "01.log"', '"log": null'),
        ('"kind": "code"', '"kind": "other"'),
        ('"excerpt": "bad"', '"excerpt": 1'),
        ('"exit": 0', '"exit": 1'),
        ('{"checks"', '[{"checks"'),
    ],
)
def test_a_report_that_is_none_of_ours_is_none(old, new):
    text = FAILED.to_json()
    assert old in text
    assert CheckReport.from_json(text.replace(old, new)) is None


def test_whole_seconds_are_a_time():
    found = CheckReport.from_json(FAILED.to_json().replace("1.5", "1"))
    assert found is not None
    assert found.checks[0].seconds == 1.0
