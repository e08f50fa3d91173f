"""What the stories.yaml of spec folders say about epics."""

from pathlib import Path

from bmad_autopilot.board.story_list import read_story_list
from bmad_autopilot.board.story_lists import find_story_lists, listed_needs
from bmad_autopilot.files import Text

EPICS = ["1", "2", "3"]


def write(folder: Path, name: str, text: str) -> str:
    path = folder / "specs" / name / "stories.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return str(path)


def needs(folder: Path, text: str) -> list[tuple[str, str, int | None]]:
    path = write(folder, "spec-x", text)
    return [(need.epic, need.on, need.place.line) for need in listed_needs([path], EPICS)]


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
    assert listed_needs([str(tmp_path / "none")], EPICS) == []


def test_ids_are_read_as_text_or_list_and_nothing_else() -> None:
    text = (
        '- id: a\n  depends_on: b\n- id: b\n  dependencies: [c, "../d", {e: f}]\n- id: c\n  depends_on: {x: y}\n'
    )
    found = read_story_list(Text("stories.yaml", text.encode())).stories
    assert [story.depends_on for story in found] == [("b",), ("c",), ()]
