import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.workflows.versions import NEWEST, version_of


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("6.12.0", (6, 12, 0)),
        ("v6.2", (6, 2)),
        ("6.0.0-alpha.12", (6, 0, 0)),
        ("6.11.1-next.24", (6, 11, 1)),
        ("", NEWEST),
        ("unknown", NEWEST),
    ],
)
def test_versions(text: str, version: tuple[int, ...]) -> None:
    assert version_of(text) == version


def test_ten_comes_after_two() -> None:
    assert version_of("6.2.9") < version_of("6.10.0") < version_of("no version")


@given(st.text())
def test_any_text_is_some_version(text: str) -> None:
    assert version_of(text) <= NEWEST
