"""Placeholders are found, filled once, and told from the braces of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.io.patterns import (
    AGENT_PLACEHOLDERS,
    LAUNCHER_PLACEHOLDERS,
    PROMPT_PLACEHOLDERS,
    fill_placeholders,
    find_quoted_placeholder,
    is_forge_variable,
    is_variable_name,
    matches_glob,
    placeholder_names,
)


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
        ("'{prompt}'", "prompt"),
        ('x "\\a" {prompt}', None),
        ("x X {prompt} X", None),
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


def test_placeholders_of_settings_stay() -> None:
    assert AGENT_PLACEHOLDERS == ("prompt", "name", "branch", "story", "model", "session", "worktree")
    assert LAUNCHER_PLACEHOLDERS == ("worktree", "name", "attempt", "target")
    assert PROMPT_PLACEHOLDERS == ("story", "story_file", "epic")


# Environment variables.


@pytest.mark.parametrize("name", ["A", "_x", "AWS_REGION", "AWS_*", "a1", "x" * 100])
def test_variable_names_and_prefix_patterns_are_accepted(name: str) -> None:
    assert is_variable_name(name) is True


@pytest.mark.parametrize("name", ["", "1A", "*", "A*", "_*", "A-B", "A B", "A=B", "ÉTÉ", "x" * 101, "A_**"])
def test_other_text_is_no_variable_name(name: str) -> None:
    assert is_variable_name(name) is False


@pytest.mark.parametrize(
    "name",
    [
        *("GH_TOKEN", "GH_*", "GITHUB_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITHUB_PAT"),
        *("GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_KEY_0", "GIT_CONFIG_VALUE_*"),
    ],
)
def test_variables_with_access_to_the_forge_are_known(name: str) -> None:
    assert is_forge_variable(name) is True


@pytest.mark.parametrize("name", ["GITHUB_ACTIONS", "GITHUB_TOKENS", "XGH_TOKEN", "GIT_CONFIG_GLOBAL", "HOME"])
def test_other_variables_give_no_access_to_the_forge(name: str) -> None:
    assert is_forge_variable(name) is False
