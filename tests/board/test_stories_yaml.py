"""stories.yaml: order, ids that can be file names, and the spec files that belong to them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.stories_yaml import (
    StoryList,
    find_story_lists,
    read_listed_dependencies,
    read_story_list,
)
from bmad_autopilot.core.errors import FileError
from bmad_autopilot.io.files import TextFile

LIST = """\
# in execution order
- id: "1"
  title: Accounts
  description: >
    People sign up
    and in.
  spec_checkpoint: true
  done_checkpoint: false
  invoke_dev_with: "use the fake mailer"
- id: "2a"
  title: Search
"""


def read(text: str) -> StoryList:
    return read_story_list(TextFile("stories.yaml", text.encode()))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_entries_keep_their_order_and_fields(end):
    found = read(LIST.replace("\n", end))

    assert [(story.id, story.title, story.line) for story in found.stories] == [
        ("1", "Accounts", 2),
        ("2a", "Search", 10),
    ]
    first = found.stories[0]
    assert first.description == "People sign up and in."
    assert (first.spec_checkpoint, first.done_checkpoint) == (True, False)
    assert first.invoke_dev_with == "use the fake mailer"
    assert found.stories[1].invoke_dev_with is None
    assert found.diagnostics == ()


def test_a_list_below_a_key_is_read_too():
    assert [story.id for story in read("stories:\n  - id: '1'\n").stories] == ["1"]


def test_an_empty_file_lists_nothing():
    assert read("").stories == ()


@pytest.mark.parametrize(
    ("text", "code", "line", "left"),
    [
        ("- id: '1'\n- title: no id\n", "bad-id", 2, ["1"]),
        ("- id: ../x\n", "bad-id", 1, []),
        ("- id: a/b\n", "bad-id", 1, []),
        ("- id: a..b\n", "bad-id", 1, []),
        ("- just text\n", "not-a-story", 1, []),
        ("- id: '1'\n- id: '1'\n", "duplicate-id", 2, ["1"]),
        ("- id: '1-2'\n- id: '1'\n", "id-not-prefix-free", 1, ["1-2", "1"]),
    ],
)
def test_what_cannot_be_used_is_said_with_its_line(text, code, line, left):
    found = read(text)

    assert [(d.code, d.location.line) for d in found.diagnostics] == [(code, line)]
    assert [story.id for story in found.stories] == left


def test_ids_that_share_only_letters_are_fine():
    assert read("- id: '1'\n- id: '10'\n- id: '1a'\n").diagnostics == ()


@pytest.mark.parametrize(
    ("text", "line"), [("a: b\n", 1), ("just text\n", 1), ("- id: [\n", 2), ("x: &a 1\ny: *a\n", 2)]
)
def test_a_file_that_lists_no_stories_is_refused_with_its_line(text, line):
    with pytest.raises(FileError) as caught:
        read(text)
    assert caught.value.location is not None
    assert caught.value.location.line == line


@given(
    st.lists(
        st.sampled_from(["- ", "id: ", "'1'", "\n", "  ", "title: ", "x", "[", "stories:\n", ": ", "&a ", "*a"])
    )
)
def test_any_text_is_read_or_refused(pieces):
    try:
        read("".join(pieces))
    except FileError as error:
        assert error.location is not None  # noqa: PT017


# What the stories.yaml of spec folders say about epics.

EPICS = ["1", "2", "3"]


def write(folder: Path, name: str, text: str) -> str:
    path = folder / "specs" / name / "stories.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return str(path)


def needs(folder: Path, text: str) -> list[tuple[str, str, int | None]]:
    path = write(folder, "spec-x", text)
    return [(need.epic, need.depends_on, need.location.line) for need in read_listed_dependencies([path], EPICS)]


def test_each_folder_of_specs_may_hold_one(tmp_path: Path) -> None:
    (tmp_path / "specs" / "spec-c").mkdir(parents=True)
    found = [write(tmp_path, name, "[]\n") for name in ("spec-a", "spec-b")]
    assert find_story_lists(str(tmp_path)) == found
    assert find_story_lists(str(tmp_path / "none")) == []


def test_what_a_story_depends_on(tmp_path: Path) -> None:
    text = '- id: "1-1"\n- id: "2-1"\n  depends_on: ["1-1", "2-9"]\n- id: "3-1"\n  depends_on: 2\n- id: "9-1"\n'
    assert needs(tmp_path, text) == [("2", "1", 2), ("3", "2", 4)]


def test_without_such_words_the_list_is_the_order(tmp_path: Path) -> None:
    text = '- id: "2-1"\n- id: "2-2"\n- id: "1-1"\n- id: "3-1"\n'
    assert needs(tmp_path, text) == [("1", "2", 3), ("3", "1", 4)]


def test_epics_that_are_mixed_do_not_wait_for_each_other(tmp_path: Path) -> None:
    assert needs(tmp_path, '- id: "1-1"\n- id: "2-1"\n- id: "1-2"\n') == []


def test_ids_that_count_within_a_spec_are_of_no_epic(tmp_path: Path) -> None:
    assert needs(tmp_path, '- id: "1"\n- id: "2"\n  depends_on: ["1"]\n') == []


def test_a_list_that_cannot_be_read_says_nothing(tmp_path: Path) -> None:
    assert needs(tmp_path, "stories: {\n") == []
    assert read_listed_dependencies([str(tmp_path / "none")], EPICS) == []


def test_ids_are_read_as_text_or_list_and_nothing_else() -> None:
    text = (
        '- id: a\n  depends_on: b\n- id: b\n  dependencies: [c, "../d", {e: f}]\n- id: c\n  depends_on: {x: y}\n'
    )
    found = read_story_list(TextFile("stories.yaml", text.encode())).stories
    assert [story.depends_on for story in found] == [("b",), ("c",), ()]
