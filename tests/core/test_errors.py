"""An error names the place, what was found, what was expected and what helps, in that order."""

import shlex

import pytest

from bmad_autopilot.core import errors
from bmad_autopilot.core.errors import (
    AutopilotError,
    ConflictError,
    Diagnostic,
    FileError,
    Location,
    Severity,
    UsageError,
    command,
)


def test_a_place_is_written_as_editors_understand_it() -> None:
    assert str(Location("a/b.yaml")) == "a/b.yaml"
    assert str(Location("a/b.yaml", 3)) == "a/b.yaml:3"
    assert str(Location("a/b.yaml", 3, 7)) == "a/b.yaml:3:7"


def test_the_whole_message() -> None:
    error = FileError(
        "is not a board", location=Location("b.yaml", 1), found="a list", expected="a mapping", hint="bmad doctor"
    )
    assert str(error) == (
        "b.yaml:1: is not a board\n  found:    a list\n  expected: a mapping\n  help:     bmad doctor"
    )
    assert (error.message, error.found, error.expected, error.hint) == (
        "is not a board",
        "a list",
        "a mapping",
        "bmad doctor",
    )


def test_what_is_not_known_is_left_out() -> None:
    assert str(AutopilotError("no")) == "no"
    assert str(AutopilotError("no", hint="yes")) == "no\n  help:     yes"


@pytest.mark.parametrize(
    ("kind", "code"), [(AutopilotError, 1), (ConflictError, 1), (UsageError, 2), (FileError, 4)]
)
def test_exit_codes(kind: type[AutopilotError], code: int) -> None:
    assert kind("x").exit_code == code


def test_a_diagnostic_in_one_or_two_lines() -> None:
    place = Location("b.yaml", 4)
    assert str(Diagnostic(Severity.NOTE, "empty-epic", "no stories", place)) == (
        "b.yaml:4: note: no stories [empty-epic]"
    )
    assert str(Diagnostic(Severity.ERROR, "x", "bad", place, "mend it")) == (
        "b.yaml:4: error: bad [x]\n    help: mend it"
    )


def test_what_happened_is_told_apart_from_what_to_type_next() -> None:
    error = AutopilotError("is taken", location=Location("a", 3), found="x", expected="y", hint="move it")
    assert error.description == "a:3: is taken\n  found:    x\n  expected: y"
    assert str(error) == f"{error.description}\n  help:     move it"


# Commands we tell people to type can be typed.


@pytest.mark.parametrize("key", ["1-2-account", "1-2-a; touch x", "1-2-$(x)", "1-2-it's", "1-2-项目", ""])
def test_a_key_stays_one_word(key: str) -> None:
    assert shlex.split(command("board", "set", key, "done")) == ["bmad", "board", "set", key, "done"]


def test_ordinary_words_stay_as_they_are() -> None:
    assert command("run-story", "1-2.b_c", "--dry-run") == "bmad run-story 1-2.b_c --dry-run"


def test_exit_codes_are_a_promise():
    assert errors.EXIT_DONE == 0
    assert errors.EXIT_FAILED == 1
    assert errors.EXIT_USAGE == 2
    assert errors.EXIT_HUMAN == 3
    assert errors.EXIT_UNREADABLE == 4
    assert errors.EXIT_INTERRUPTED == 130


def test_an_error_is_an_exception_with_its_message():
    assert AutopilotError("no").args == ("no",)


def test_a_word_in_other_letters_is_quoted():
    assert command("set", "1-2-项目") == "bmad set '1-2-项目'"
