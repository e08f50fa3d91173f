import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.github.paths import decode, encode, is_inside, join, show
from tests.github.repositories import ODD_NAMES


@given(st.binary())
def test_bytes_come_back_as_they_were(raw: bytes) -> None:
    assert encode(decode(raw)) == raw


@given(st.text())
def test_no_text_is_too_odd_to_be_encoded(text: str) -> None:
    assert isinstance(encode(text), bytes)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_inside(name: str) -> None:
    assert is_inside(name)


@pytest.mark.parametrize(
    "path",
    [
        *("", "/etc/passwd", "..", "../x", "a/../x", "a//b", "./a", "a/", "a\0b", "."),
        *(".git", ".git/config", "sub/.git/hooks/x", ".GIT/x", ".git./x", ".git /x", "git~1/x", ".git::$INDEX/x"),
        "x\\.git\\config",
    ],
)
def test_what_leads_out_or_into_gits_folder_is_not(path: str) -> None:
    assert not is_inside(path)


@pytest.mark.parametrize("path", [".gitignore", ".github/x", "a.git", "git", ".gitmodules"])
def test_names_like_gits_are_inside(path: str) -> None:
    assert is_inside(path)


def test_lists_end_each_path_with_nul() -> None:
    assert join(["a", "b\nc"]) == b"a\0b\nc\0"


def test_a_few_are_shown() -> None:
    assert show(["a", "\udcff"]) == "a, \ufffd"
    assert show([str(number) for number in range(8)]) == "0, 1, 2, 3, 4 and 3 more"
