"""Which failures go to a developer and which to a person; what of an output tells the tale."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.gates.excerpts import MAX_EXCERPT, excerpt, plain, stable
from bmad_autopilot.gates.failures import FailureKind, kind_of

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
    assert kind_of(exit, f"running\n{output}\nend") is ENVIRONMENT


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
    assert kind_of(exit, f"running\n{output}\nend") is CODE


def test_the_same_failure_is_known_again():
    form = (
        "FAILED tests/test_a.py::test_x - assert 1 == 2\n"
        "=== 1 failed in {} ===\nerror at /tmp/pytest-{}/x {} on {}"
    )
    one = form.format("0.31s", 12, "0x7f3a2b", "2026-01-02T03:04:05Z")
    two = form.format("12.70s", 99, "0x7f3999", "2026-01-02T09:09:09Z")
    assert stable(one) == stable(two)


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
    assert stable(one) == stable(two)


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
    assert stable(one) != stable(two)


def test_an_excerpt_keeps_the_first_failure_and_the_end():
    lines = [f"line {number}" for number in range(5000)]
    lines[100] = "FAILED test_first"
    shown = excerpt("\n".join(lines))
    assert "FAILED test_first" in shown
    assert shown.endswith("line 4999")
    assert "line 4940" in shown
    assert "line 2000" not in shown
    assert len(shown) <= MAX_EXCERPT


def test_a_short_output_is_its_own_excerpt():
    assert excerpt("one\ntwo\n") == "one\ntwo"


def test_an_excerpt_is_bounded_whatever_the_lines():
    assert len(excerpt("error " * 100_000)) <= MAX_EXCERPT
    assert len(excerpt("\n".join("error " * 100 for _ in range(1000)))) <= MAX_EXCERPT


def test_colours_and_progress_bars_are_taken_out():
    raw = b"\x1b[31mFAILED\x1b[0m a\r\n 10%\r 50%\r100% done\n\x1b]0;title\x07x\x00y\xff"
    assert plain(raw) == "FAILED a\n100% done\nx y�"


@given(st.binary(max_size=500))
def test_no_output_breaks_anything(raw):
    text = plain(raw)
    kind_of(1, text)
    stable(text)
    assert len(excerpt(text)) <= MAX_EXCERPT
