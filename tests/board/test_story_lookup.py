"""Finding story files: folders and names as real projects have them."""

import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.story_lookup import StoryFiles, find_story_files, story_location
from bmad_autopilot.core.keys import identify

BOARD = ["epic-1", "1-1-sign-up", "1-2-sign-in", "1-10-sign-out", "1-4b-reset", "epic-2", "2-1-search"]


def numbers(*keys: str) -> dict[str, str]:
    return {key: row.number for key, row in identify(keys).items() if not key.startswith("epic-")}


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# x\n")


def relative(root: Path, found: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {number: [os.path.relpath(path, root) for path in paths] for number, paths in found.items()}


def stories(root: Path, *keys: str) -> dict[str, list[str]]:
    return relative(root, find_story_files([str(root)], numbers(*(keys or BOARD))).stories)


@pytest.mark.parametrize(
    "name",
    [
        *("1-2-sign-in.md", "1-2-another-slug.md", "1-2.md", "1.2.sign-in.md", "1.2-sign-in.md", "1_2_sign_in.md"),
        *(
            "story-1.2.md",
            "story-1.2-sign-in.md",
            "story-1-2-sign-in.md",
            "Story 1.2 - Sign in.md",
            "01-02-sign-in.md",
        ),
        *("epic-1-story-2.md", "epic1-story2-sign-in.md", "1-2-登录.md", "1-2-form-validation.md"),
    ],
)
@pytest.mark.parametrize(
    "folder", ["", "stories", "stories/epic-1", "epic-1", "epic1/stories", "Story", "epic-1-accounts"]
)
def test_a_story_is_found_by_its_number_in_every_usual_folder(tmp_path: Path, folder: str, name: str):
    make(tmp_path, os.path.join(folder, name))

    assert stories(tmp_path) == {"1-2-sign-in": [os.path.join(folder, name)]}


@pytest.mark.parametrize(
    "name",
    [
        *(
            "1-2-sign-in.agent-state.json",
            "1-2-sign-in.review.json",
            "1-2-sign-in.context.xml",
            "1-2-sign-in.context.md",
        ),
        *(
            "1-2-sign-in-validation-report.md",
            "1-2-sign-in-validation-report-2026-01-02.md",
            "1-2-sign-in.validation.md",
        ),
        *(
            "1-2-sign-in-tech-spec.md",
            "tech-spec-1-2.md",
            "epic-1-retro-2026-01-02.md",
            "epic-1-context.md",
            "1-2-retro.md",
        ),
        *("2026-01-02-notes.md", "deferred-work.md", "sprint-status.yaml", "README.md", "1-2-sign-in.md.bak"),
        *("archive/1-2-sign-in.md", "notes/1-2-sign-in.md", "stories/a/1-2-sign-in.md"),
    ],
)
def test_what_only_stands_beside_a_story_is_not_one(tmp_path: Path, name: str):
    make(tmp_path, name)

    assert stories(tmp_path) == {}


def test_a_validation_beside_its_story_is_left_out_but_a_slug_may_end_so(tmp_path: Path):
    make(tmp_path, "1-2-sign-in.md", "1-2-sign-in-validation.md", "2-1-form-validation.md")

    assert stories(tmp_path) == {"1-2-sign-in": ["1-2-sign-in.md"], "2-1-search": ["2-1-form-validation.md"]}


def test_only_the_file_that_carries_the_key_is_the_storys(tmp_path: Path):
    make(tmp_path, "1-2-a-first.md", "stories/1-2-sign-in.md", "1.2.old.md", "story-1.2-sign-in.md")

    assert stories(tmp_path) == {"1-2-sign-in": ["stories/1-2-sign-in.md"]}


def test_keys_are_cut_as_the_board_cuts_them(tmp_path: Path):
    make(
        tmp_path,
        "0-5-1-other.md",
        "1a-plus-1-other.md",
        "TD-15b-3-other.md",
        "1-2-3-ways.md",
        "13-2-1-b.md",
        "13-2-2-d.md",
    )
    keys = ["epic-0-5", "0-5-1-x", "epic-1a-plus", "1a-plus-1-x", "epic-15b", "TD-15b-3-x", "epic-1", "1-2-x"]
    keys += ["epic-13", "13-2-1-a", "13-2-2-c"]

    assert stories(tmp_path, *keys) == {
        "0-5-1-x": ["0-5-1-other.md"],
        "1a-plus-1-x": ["1a-plus-1-other.md"],
        "TD-15b-3-x": ["TD-15b-3-other.md"],
        "13-2-1-a": ["13-2-1-b.md"],
        "13-2-2-c": ["13-2-2-d.md"],
    }


def test_a_third_number_or_a_letter_is_part_of_the_number(tmp_path: Path):
    make(tmp_path, "0-5-1-other.md", "0-5-other.md", "3-1-b-other.md", "4-1-2-other.md", "2-1-404-page.md")
    keys = ["0-5-y", "0-5-1-x", "3-1-a-x", "4-1-x", "2-1-not-found"]

    assert stories(tmp_path, *keys) == {
        "0-5-1-x": ["0-5-1-other.md"],
        "0-5-y": ["0-5-other.md"],
        "2-1-not-found": ["2-1-404-page.md"],
    }


def test_a_number_decides_only_where_it_is_unique_on_both_sides(tmp_path: Path):
    make(tmp_path, "1-1-p.md", "1-1-q.md", "1-2-p.md", "1-3-p.md", "1-3-c.md", "spec-1-4-p.md", "spec-1-4-q.md")
    found = find_story_files([str(tmp_path)], numbers("1-1-a", "1-2-a", "1-2-b", "1-3-c", "1-3-d", "1-4-a"))

    assert relative(tmp_path, found.stories) == {"1-3-c": ["1-3-c.md"]}
    assert found.specs == {}
    assert relative(tmp_path, found.ambiguous) == {
        "1-1-a": ["1-1-p.md", "1-1-q.md"],
        "1-2-a": ["1-2-p.md"],
        "1-2-b": ["1-2-p.md"],
        "1-3-d": ["1-3-p.md"],
        "1-4-a": ["spec-1-4-p.md", "spec-1-4-q.md"],
    }


def test_a_suffix_is_a_story_of_its_own(tmp_path: Path):
    make(tmp_path, "1-4b-x.md", "1-4-x.md", "1-10-x.md", "1-1-x.md")
    found = find_story_files([str(tmp_path)], numbers(*BOARD))

    assert relative(tmp_path, found.stories) == {
        "1-4b-reset": ["1-4b-x.md"],
        "1-10-sign-out": ["1-10-x.md"],
        "1-1-sign-up": ["1-1-x.md"],
    }
    assert relative(tmp_path, found.strays) == {"1.4": ["1-4-x.md"]}


def test_specs_are_kept_apart(tmp_path: Path):
    make(tmp_path, "spec-1-2-sign-in.md", "1-2-sign-in.md", "spec-2-factor.md")
    found = find_story_files([str(tmp_path)], numbers(*BOARD))

    assert relative(tmp_path, found.specs) == {"1-2-sign-in": ["spec-1-2-sign-in.md"]}
    assert relative(tmp_path, found.stories) == {"1-2-sign-in": ["1-2-sign-in.md"]}


def test_a_folder_named_twice_or_missing_changes_nothing(tmp_path: Path):
    make(tmp_path, "stories/1-2-sign-in.md")
    dirs = [str(tmp_path), str(tmp_path / "stories"), str(tmp_path / "gone"), str(tmp_path / "stories") + "/"]

    assert relative(tmp_path, find_story_files(dirs, numbers(*BOARD)).stories) == {
        "1-2-sign-in": ["stories/1-2-sign-in.md"]
    }


def test_links_to_folders_and_loops_are_not_followed(tmp_path: Path):
    make(tmp_path, "real/1-2-sign-in.md", "board/1-1-sign-up.md")
    (tmp_path / "board" / "stories").symlink_to(tmp_path / "real")
    (tmp_path / "board" / "epic-1").symlink_to(tmp_path / "board")

    assert list(stories(tmp_path / "board")) == ["1-1-sign-up"]


def test_too_many_files_are_a_bound_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make(tmp_path, *(f"1-{n}-x.md" for n in range(20)))
    monkeypatch.setattr("bmad_autopilot.board.story_lookup.MAX_ENTRIES", 10)

    assert not find_story_files([str(tmp_path)], {}).is_complete


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("docs/stories", "docs/stories"),
        ("./docs/stories/", "docs/stories"),
        ("{project-root}/docs/stories", "docs/stories"),
        ("docs\\stories", "docs/stories"),
        ("", None),
        (None, None),
        ("/Users/someone/project/docs", None),
        ("C:\\Users\\someone\\docs", None),
        ("../elsewhere", None),
        ("docs/../../elsewhere", None),
        ("{output_folder}/stories", None),
        ("https://example.invalid/stories", None),
        ("docs\0/x", None),
        ("link", None),
    ],
)
def test_a_story_location_counts_only_inside_the_project(tmp_path: Path, raw: str | None, expected: str | None):
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    (root / "link").symlink_to(tmp_path / "outside")

    assert story_location(raw, str(root)) == (str(root / expected) if expected else None)


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=20))
)
def test_no_file_name_breaks_the_search(tmp_path_factory, names):
    root = tmp_path_factory.mktemp("names")
    for name in names:
        try:
            (root / f"{name}.md").write_text("")
        except OSError:
            continue
    found = find_story_files([str(root)], numbers(*BOARD))
    assert isinstance(found, StoryFiles)
    assert all(os.path.dirname(path) == str(root) for paths in found.stories.values() for path in paths)


def test_thousands_of_files_are_matched_at_once(tmp_path: Path):
    keys = [f"{n // 20 + 1}-{n % 20 + 1}-some-story-{n}" for n in range(3_000)]
    for key in keys:
        os.close(os.open(tmp_path / f"{key}.md", os.O_CREAT | os.O_WRONLY))
    known = numbers(*keys)

    best = min(_seconds(tmp_path, known) for _ in range(5))

    assert len(find_story_files([str(tmp_path)], known).stories) == 3_000
    assert best < 1  # 5 ms where it was measured; a bound for the growth, not a benchmark


def _seconds(folder: Path, known: dict[str, str]) -> float:
    started = time.perf_counter()
    find_story_files([str(folder)], known)
    return time.perf_counter() - started
