"""Globs for paths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.gates.globs import matches


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
    assert matches(path, [glob]) is expected


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_glob_breaks(path, glob):
    matches(path, [glob])
