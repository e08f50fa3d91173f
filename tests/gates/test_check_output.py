"""Which failures go to a developer and which to a person; what of an output tells the tale."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.gates.check_output import (
    MAX_CLASSIFIED,
    MAX_EXCERPT,
    MAX_LINE,
    CheckFailure,
    FailureKind,
    classify_failure,
    clean_output,
    failure_excerpt,
    normalize_failure,
    normalize_line,
)
from bmad_autopilot.gates.checks import MAX_FAILURE_TEXT, CheckReport, CheckResult
from bmad_autopilot.gates.evidence import ObjectionKind, missing_output, quote, violation

CODE, ENVIRONMENT = FailureKind.CODE, FailureKind.ENVIRONMENT


@pytest.mark.parametrize(
    ("exit", "output"),
    [
        (127, ""),
        (126, ""),
        (137, ""),
        (-9, ""),
        (1, "sh: 1: eslint: not found"),
        (1, "bash: line 1: vitest: command not found"),
        (1, "/usr/bin/python3: No module named pytest"),
        (1, "OSError: [Errno 28] No space left on device"),
        (1, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock"),
        (1, "Error: connect ECONNREFUSED 127.0.0.1:5432"),
        (1, "FAILED tests/test_db.py::test_x - psycopg2.OperationalError: Connection refused"),
        (1, "npm ERR! getaddrinfo ENOTFOUND registry.example"),
        (1, "Error: listen EADDRINUSE: address already in use :::3000"),
        (1, "KeyError: environment variable DATABASE_URL is not set"),
        (1, "Missing required environment variable: STRIPE_KEY"),
        (1, "STRIPE_SECRET_KEY is not set"),
        (1, "FATAL: password authentication failed for user"),
        (1, "./gradlew: Permission denied"),
        (1, "JAVA_HOME is not set and no 'java' command could be found"),
        (134, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory"),
        (1, "browserType.launch: Executable doesn't exist at /x/chrome"),
    ],
)
def test_what_only_a_person_can_mend(exit, output):
    assert classify_failure(exit, f"running\n{output}\nend") is ENVIRONMENT


@pytest.mark.parametrize(
    ("exit", "output"),
    [
        (1, ""),
        (None, "still running"),
        (None, "bash: line 1: x: command not found"),
        (1, "E   AssertionError: assert 1 == 2"),
        (1, "--- FAIL: TestTotal (0.00s)"),
        (101, "thread 'main' panicked at src/lib.rs:3"),
        (2, "src/a.ts(3,1): error TS2304: Cannot find name 'x'."),
        (1, "error[E0425]: cannot find value `x`"),
        (1, "src/a.py:1:1: F401 unused import\nFound 1 error."),
        (1, "  Expected: 3\n  Received: 4\n  note: fake server answered ECONNREFUSED"),
        (1, "ModuleNotFoundError: No module named 'shop.cart'"),
        (1, "Error: Cannot find module './cart'"),
        (1, "AssertionError: expected 401 Unauthorized to equal 200"),
        (139, "Segmentation fault"),
        (1, "✖ 3 problems (3 errors, 0 warnings)"),
    ],
)
def test_what_a_developer_mends(exit, output):
    assert classify_failure(exit, f"running\n{output}\nend") is CODE


def test_the_same_failure_is_known_again():
    form = (
        "FAILED tests/test_a.py::test_x - assert 1 == 2\n"
        "=== 1 failed in {} ===\nerror at /tmp/pytest-{}/x {} on {}"
    )
    one = form.format("0.31s", 12, "0x7f3a2b", "2026-01-02T03:04:05Z")
    two = form.format("12.70s", 99, "0x7f3999", "2026-01-02T09:09:09Z")
    assert normalize_failure(one) == normalize_failure(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("connect failed on localhost:40123 after 3 ms", "connect failed on localhost:51999 after 4.2 ms"),
        ("error in worker 3 (pid 811)", "error in worker 1 (pid 99123)"),
        ("error 550e8400-e29b-41d4-a716-446655440000", "error 550e8400-e29b-41d4-a716-446655440fff"),
        ("FAILED a\nFAILED b", "FAILED b\nFAILED a"),
        ("ok 1 12:30:01\nboom", "ok 1 13:31:59\nboom"),
        ("[gw0] FAILED a [ 50%]", "[gw1] FAILED a [100%]"),
    ],
)
def test_what_always_differs_does_not_count(one, two):
    assert normalize_failure(one) == normalize_failure(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("FAILED tests/test_a.py::test_x", "FAILED tests/test_a.py::test_y"),
        ("assert 1 == 2", "assert 1 == 3"),
        ("error at src/a.py:3", "error at src/a.py:4"),
        ("boom", "bang"),
        ("FAILED a", "FAILED a\nFAILED b"),
    ],
)
def test_another_failure_is_another(one, two):
    assert normalize_failure(one) != normalize_failure(two)


def test_an_excerpt_keeps_the_first_failure_and_the_end():
    lines = [f"line {number}" for number in range(5000)]
    lines[100] = "FAILED test_first"
    shown = failure_excerpt("\n".join(lines))
    assert "FAILED test_first" in shown
    assert shown.endswith("line 4999")
    assert "line 4940" in shown
    assert "line 2000" not in shown
    assert len(shown) <= MAX_EXCERPT


def test_a_short_output_is_its_own_excerpt():
    assert failure_excerpt("one\ntwo\n") == "one\ntwo"


def test_an_excerpt_is_bounded_whatever_the_lines():
    assert len(failure_excerpt("error " * 100_000)) <= MAX_EXCERPT
    assert len(failure_excerpt("\n".join("error " * 100 for _ in range(1000)))) <= MAX_EXCERPT


def test_colours_and_progress_bars_are_taken_out():
    raw = b"\x1b[31mFAILED\x1b[0m a\r\n 10%\r 50%\r100% done\n\x1b]0;title\x07x\x00y\xff"
    assert clean_output(raw) == "FAILED a\n100% done\nx y�"


@given(st.binary(max_size=500))
def test_no_output_breaks_anything(raw):
    text = clean_output(raw)
    classify_failure(1, text)
    normalize_failure(text)
    assert len(failure_excerpt(text)) <= MAX_EXCERPT


# Output, reports and messages to the letter.


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
    assert normalize_line(line) == settled


def test_a_long_line_is_settled_by_its_start():
    assert normalize_line("x" * MAX_LINE + "y") == normalize_line("x" * MAX_LINE + "z") == "x" * MAX_LINE


@pytest.mark.parametrize("quiet", ["0 failed", "no errors", "--error-on-warnings", "12 passed", "NO ERROR"])
def test_a_line_that_tells_of_no_failure_tells_nothing(quiet):
    assert normalize_failure(f"{quiet}\nFAILED a") == "FAILED a"


def test_the_telling_lines_are_told_in_order_once():
    assert normalize_failure("FAILED b\nok\n\nFAILED a\nFAILED b") == "FAILED a\nFAILED b"


def test_where_nothing_tells_the_last_lines_count():
    lines = [f"line {number}x" for number in range(100)]
    assert normalize_failure("\n".join(lines)) == "\n".join(lines[-60:])


def test_an_excerpt_without_a_telling_line_is_the_end():
    lines = [f"line {number}" for number in range(100)]
    assert failure_excerpt("\n".join(lines)) == "\n".join(lines[-60:])


def test_an_excerpt_shows_what_stands_around_the_first_failure():
    lines = [f"line {number}" for number in range(200)]
    lines[50] = lines[90] = "FAILED"
    shown = failure_excerpt("\n".join(lines)).split("\n")
    assert shown == [*lines[46:58], "[…]", *lines[140:]]


def test_around_the_first_line_nothing_stands_before():
    lines = ["FAILED", *(f"line {number}" for number in range(100))]
    assert failure_excerpt("\n".join(lines)).split("\n")[:9] == [*lines[:8], "[…]"]


def test_what_stands_around_ends_where_the_end_begins():
    lines = [f"line {number}" for number in range(100)]
    lines[38] = "FAILED"
    assert failure_excerpt("\n".join(lines)).split("\n") == [*lines[34:40], "[…]", *lines[40:]]


def test_lines_and_ends_are_cut_to_the_letter():
    assert failure_excerpt("x" * MAX_LINE) == "x" * MAX_LINE
    assert failure_excerpt("x" * (MAX_LINE + 1)) == "x" * (MAX_LINE - 1) + "…"
    long = "\n".join("x" * 300 for _ in range(60))
    shown = failure_excerpt(long)
    assert len(shown) == MAX_EXCERPT
    assert shown == "…" + long[len(long) - MAX_EXCERPT + 1 :]
    short = long[:MAX_EXCERPT]
    assert failure_excerpt(short) == short


def test_a_long_head_is_cut_to_a_third():
    head = "\n".join("FAILED " + "x" * 390 for _ in range(10))
    shown = failure_excerpt(head + "\n" + "\n".join("y" * 300 for _ in range(60)))
    first, _, rest = shown.partition("\n[…]\n")
    assert len(first) == MAX_EXCERPT // 3
    assert len(rest) == MAX_EXCERPT - MAX_EXCERPT // 3 - 10


def test_a_line_that_overwrote_itself_and_odd_characters():
    assert clean_output(b"a\rb\r\r\nc\td\n") == "b\nc\td\n"
    assert clean_output(b"a\r\nb") == "a\nb"
    assert clean_output(b"aX") == "aX"


def test_only_the_two_ends_of_a_long_output_are_looked_at():
    half = MAX_CLASSIFIED // 2
    sign = "\nNo space left on device\n"
    assert classify_failure(1, sign + "x" * MAX_CLASSIFIED) is FailureKind.ENVIRONMENT
    assert classify_failure(1, "x" * MAX_CLASSIFIED + sign) is FailureKind.ENVIRONMENT
    assert classify_failure(1, "x" * half + sign + "x" * half) is FailureKind.CODE
    assert classify_failure(0, "") is FailureKind.CODE
    assert classify_failure(125, "") is FailureKind.CODE


def test_names_are_listed_shortly():
    assert quote(["a", "b"]) == "`a`, `b`"
    assert quote([str(n) for n in range(5)]) == "`0`, `1`, `2`, `3`, `4`"
    assert quote([str(n) for n in range(7)]) == "`0`, `1`, `2`, `3`, `4` and 2 more"
    assert quote(["a`b\n  c"]) == "`a'b c`"
    assert quote(["x" * 120]) == f"`{'x' * 120}`"
    assert quote(["x" * 121]) == f"`{'x' * 119}…`"
    assert missing_output("a", "b") == ("a", "b", ObjectionKind.MISSING_OUTPUT)
    assert violation("a", "b") == ("a", "b", ObjectionKind.VIOLATION)


FAILED = CheckReport(
    (
        CheckResult("a", 0, 1.5, "01.log"),
        CheckResult("b", 2, 0.5, "02.log"),
        CheckResult("c", None, 3.0, "03.log"),
    ),
    (CheckFailure("b", 2, FailureKind.CODE, "bad"), CheckFailure("c", None, FailureKind.ENVIRONMENT, "slow")),
    "s1",
)


def test_a_report_tells_each_failure():
    assert FAILED.failure_text == "$ b\n(exit code 2)\nbad\n\n$ c\n(was stopped at its time limit)\nslow"
    long = CheckReport(failures=(CheckFailure("b", 2, FailureKind.CODE, "x" * 20_000),))
    assert len(long.failure_text) == MAX_FAILURE_TEXT
    assert CheckReport().failure_text == ""


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
