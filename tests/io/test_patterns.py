"""Placeholders are found, filled once, and told from the braces of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.io.patterns import fill_placeholders, find_quoted_placeholder, matches_glob, placeholder_names


def test_names_come_once_and_in_order() -> None:
    assert placeholder_names(["{name}-{prompt}", "x", "{name}{odd}"]) == ["name", "prompt", "odd"]


@pytest.mark.parametrize(
    "word", ["${name}", "{{name}}", "{}", "{ name }", "{Name}", "{na-me}", '{"name": 1}', "{name"]
)
def test_braces_of_others_are_left_alone(word: str) -> None:
    assert placeholder_names([word]) == []
    assert fill_placeholders(word, lambda _: "!") == word


@given(st.text(max_size=50), st.text(max_size=50))
def test_a_value_is_put_in_as_it_is(prompt: str, name: str) -> None:
    values = {"prompt": f"{prompt}{{name}}", "name": name}
    assert fill_placeholders("<{prompt}|{name}>", values.__getitem__) == f"<{prompt}{{name}}|{name}>"


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
    assert find_quoted_placeholder(script) == found


# Globs for paths.


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        (".github/workflows/ci.yml", ".github/", True),
        (".github/workflows/ci.yml", ".github", True),
        (".github/workflows/ci.yml", ".github/*.yml", False),
        (".github/workflows/ci.yml", ".github/**/*.yml", True),
        (".github/ci.yml", ".github/**/*.yml", True),
        (".github/workflows/ci.yml", "./.github/workflows/*", True),
        (".githubx/a", ".github/", False),
        ("a/.github/x", ".github/", False),
        ("a/.github/x", "**/.github/", True),
        ("a.b", "a?b", True),
        ("axb", "a.b", False),
        ("a/b", "a?b", False),
        ("A/B", "a/b", True),
        ("a", "", False),
        ("a", "  ", False),
    ],
)
def test_what_a_glob_matches(path, glob, expected):
    assert matches_glob(path, [glob]) is expected


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_glob_breaks(path, glob):
    matches_glob(path, [glob])
