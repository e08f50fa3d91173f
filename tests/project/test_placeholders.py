"""Placeholders are found, filled once, and told from the braces of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.project.placeholders import fill, quoted, used


def test_names_come_once_and_in_order() -> None:
    assert used(["{name}-{prompt}", "x", "{name}{odd}"]) == ["name", "prompt", "odd"]


@pytest.mark.parametrize(
    "word", ["${name}", "{{name}}", "{}", "{ name }", "{Name}", "{na-me}", '{"name": 1}', "{name"]
)
def test_braces_of_others_are_left_alone(word: str) -> None:
    assert used([word]) == []
    assert fill(word, lambda _: "!") == word


@given(st.text(max_size=50), st.text(max_size=50))
def test_a_value_is_put_in_as_it_is(prompt: str, name: str) -> None:
    values = {"prompt": f"{prompt}{{name}}", "name": name}
    assert fill("<{prompt}|{name}>", values.__getitem__) == f"<{prompt}{{name}}|{name}>"


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("x {prompt}", None),
        ("x 'a' {prompt} \"b\"", None),
        ('x "a {prompt} b"', "prompt"),
        ("x '{name}'", "name"),
        ('x \\" {prompt}', None),
        ('x "\\" {prompt}"', "prompt"),
        ("x 'it\\' {prompt}", None),
        ('x "it\'s" {prompt}', None),
        ('x "it\'s {prompt}"', "prompt"),
    ],
)
def test_a_placeholder_inside_quotes_is_found(script: str, found: str | None) -> None:
    assert quoted(script) == found
