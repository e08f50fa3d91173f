"""An error names the place, what was found, what was expected and what helps, in that order."""

import pytest

from bmad_autopilot.core.diagnostics import Diagnostic, Severity
from bmad_autopilot.core.errors import AutopilotError, ConflictError, FileError, Place, UsageError


def test_a_place_is_written_as_editors_understand_it() -> None:
    assert str(Place("a/b.yaml")) == "a/b.yaml"
    assert str(Place("a/b.yaml", 3)) == "a/b.yaml:3"
    assert str(Place("a/b.yaml", 3, 7)) == "a/b.yaml:3:7"


def test_the_whole_message() -> None:
    error = FileError(
        "is not a board", place=Place("b.yaml", 1), found="a list", expected="a mapping", hint="bmad doctor"
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
    place = Place("b.yaml", 4)
    assert str(Diagnostic(Severity.NOTE, "empty-epic", "no stories", place)) == (
        "b.yaml:4: note: no stories [empty-epic]"
    )
    assert str(Diagnostic(Severity.ERROR, "x", "bad", place, "mend it")) == (
        "b.yaml:4: error: bad [x]\n    help: mend it"
    )


def test_what_happened_is_told_apart_from_what_to_type_next() -> None:
    error = AutopilotError("is taken", place=Place("a", 3), found="x", expected="y", hint="move it")
    assert error.what == "a:3: is taken\n  found:    x\n  expected: y"
    assert str(error) == f"{error.what}\n  help:     move it"
