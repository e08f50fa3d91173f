"""Variables of a workflow: their names, their bounds, and words they are filled into."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.workflows.step_entry import (
    MAX_TOTAL,
    MAX_VALUE,
    MAX_VARIABLES,
    as_text,
    fill_words,
    find_variables_problem,
    is_name,
    parse_variable_options,
    read_variables,
)

names = st.from_regex(r"[a-z_][a-z0-9_]{0,20}", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(st.characters(codec="utf-8"), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def test_what_is_a_name() -> None:
    assert [word for word in ("a", "_b", "var_1", "x" * 64) if not is_name(word)] == []
    assert [word for word in ("", "1a", "A", "a-b", "a b", "é", "x" * 65, "a\n") if is_name(word)] == []


def test_pairs_from_the_command_line() -> None:
    assert parse_variable_options(["a=1", "b=x=y", "c=", "a=2"]) == {"a": "2", "b": "x=y", "c": ""}


@pytest.mark.parametrize("pair", ["a", "=1", "A=1", "a b=1", "a=" + "x" * MAX_VALUE])
def test_a_pair_that_is_none(pair: str) -> None:
    with pytest.raises(UsageError, match="--var"):
        parse_variable_options([pair])


@given(st.dictionaries(names, values, max_size=5))
def test_what_a_step_left_is_read_as_it_was_written(variables: dict[str, object]) -> None:
    if find_variables_problem(variables):
        return
    assert read_variables(json.dumps(variables).encode()) == variables


@given(st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
def test_anything_else_is_refused_in_words(raw: bytes) -> None:
    said = "read"
    try:
        assert find_variables_problem(read_variables(raw)) == ""
    except ValueError as error:
        said = str(error)
    assert said


@pytest.mark.parametrize(
    ("variables", "word"),
    [
        ({f"v{number}": 1 for number in range(MAX_VARIABLES + 1)}, "too many"),
        ({"Some": 1}, "no variable's name"),
        ({"a": "x" * MAX_VALUE}, "too long"),
        ({f"v{number}": "x" * (MAX_VALUE - 10) for number in range(MAX_TOTAL // MAX_VALUE + 1)}, "together"),
        ({"a": ["x\0"]}, "NUL"),
    ],
)
def test_bounds(variables: dict[str, object], word: str) -> None:
    assert word in find_variables_problem(variables)


def test_a_value_stays_one_word_and_is_not_filled_again() -> None:
    assert fill_words(("{a}", "x-{b}", "{c}", "{{a}}", "${a}"), {"a": "one two {b}", "b": ["1"]}) == (
        "one two {b}",
        'x-["1"]',
        "{c}",
        "{{a}}",
        "${a}",
    )
    assert as_text(True) == "true"
