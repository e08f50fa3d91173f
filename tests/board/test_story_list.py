"""stories.yaml: order, ids that can be file names, and the spec files that belong to them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.story_list import StoryList, find_listed_specs, read_story_list
from bmad_autopilot.core.errors import FileError
from bmad_autopilot.files import Text

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
    return read_story_list(Text("stories.yaml", text.encode()))


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

    assert [(d.code, d.place.line) for d in found.diagnostics] == [(code, line)]
    assert [story.id for story in found.stories] == left


def test_ids_that_share_only_letters_are_fine():
    assert read("- id: '1'\n- id: '10'\n- id: '1a'\n").diagnostics == ()


@pytest.mark.parametrize(
    ("text", "line"), [("a: b\n", 1), ("just text\n", 1), ("- id: [\n", 2), ("x: &a 1\ny: *a\n", 2)]
)
def test_a_file_that_lists_no_stories_is_refused_with_its_line(text, line):
    with pytest.raises(FileError) as caught:
        read(text)
    assert caught.value.place is not None
    assert caught.value.place.line == line


def test_spec_files_belong_to_the_longest_id(tmp_path: Path):
    below = tmp_path / "stories"
    below.mkdir()
    for name in ("1-accounts.md", "1-again.md", "10-more.md", "2a-search.md", "x.md", "1-notes.txt"):
        (below / name).write_text("x")
    stories = read("- id: '1'\n- id: '10'\n- id: 2a\n- id: '3'\n").stories

    found = find_listed_specs(str(tmp_path), stories)

    assert {key: [Path(p).name for p in paths] for key, paths in found.items()} == {
        "1": ["1-accounts.md", "1-again.md"],
        "10": ["10-more.md"],
        "2a": ["2a-search.md"],
    }
    assert find_listed_specs(str(tmp_path / "gone"), stories) == {}


@given(
    st.lists(
        st.sampled_from(["- ", "id: ", "'1'", "\n", "  ", "title: ", "x", "[", "stories:\n", ": ", "&a ", "*a"])
    )
)
def test_any_text_is_read_or_refused(pieces):
    try:
        read("".join(pieces))
    except FileError as error:
        assert error.place is not None  # noqa: PT017
