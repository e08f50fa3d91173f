"""Epics files: the forms real projects write, and what the reader says about the rest."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.epics_file import (
    MAX_TITLE,
    EpicsFile,
    find_epics_files,
    read_all_epics,
    read_epics,
    read_heading,
)
from bmad_autopilot.core.statuses import RowKind
from bmad_autopilot.io.files import TextFile, read_text


def epics(text: str) -> EpicsFile:
    return read_epics(TextFile("epics.md", text.encode()))


def shape(found: EpicsFile) -> dict[str, list[str]]:
    return {epic.number: [story.number for story in epic.stories] for epic in found.epics}


def codes(found: EpicsFile) -> list[tuple[str, int | None]]:
    return [(d.code, d.location.line) for d in found.diagnostics]


TEMPLATE = """\
---
stepsCompleted: []
title: "## Epic 9: not a heading"
---

# Sample - Epic Breakdown

## Overview

## Epic List

### Epic 1: Accounts

Goal of it.

### Epic 2: Finding things

## Epic 1: Accounts

### Story 1.1: Sign up

As a visitor.

#### Notes

Deeper, so still of 1.1.

### Story 1.2: Sign in

## Epic 2: Finding things

### Story 2.1: Search
"""


def test_an_epic_written_in_the_list_and_in_the_body_is_one_epic_at_its_body():
    found = epics(TEMPLATE)

    assert shape(found) == {"1": ["1.1", "1.2"], "2": ["2.1"]}
    assert [(epic.title, epic.line) for epic in found.epics] == [("Accounts", 18), ("Finding things", 30)]
    assert found.diagnostics == ()


def test_a_story_section_can_be_quoted_by_its_offsets():
    story = next(epics(TEMPLATE).stories())

    assert TEMPLATE[story.start : story.end].strip() == "As a visitor.\n\n#### Notes\n\nDeeper, so still of 1.1."


def test_a_section_ends_at_the_next_story_however_deep():
    text = "## Story 1.1: A\nfirst\n### Story 1.2: B\nsecond\n# Epic 1: C\n"
    sections = [text[story.start : story.end] for story in epics(text).stories()]

    assert sections == ["first\n", "second\n"]


@pytest.mark.parametrize(
    ("heading", "number", "title"),
    [
        ("Epic 1: Title", "1", "Title"),
        ("Epic 1 : Titre", "1", "Titre"),
        ("Epic 1：标题", "1", "标题"),
        ("Epic 1 - Title", "1", "Title"),
        ("Epic 1 – Title", "1", "Title"),
        ("Epic 1 — Title: more", "1", "Title: more"),
        ("Epic 1. Title", "1", "Title"),
        ("Epic 1", "1", ""),
        ("Epic #7: Title", "7", "Title"),
        ("EPIC 01: Title", "1", "Title"),
        ("**Epic 1: Title**", "1", "Title"),
        ("**Epic 1**: Title", "1", "Title"),
        ("*Epic 1: Title*", "1", "Title"),
        ("Epic 1A: Title", "1a", "Title"),
        ("Epic 0.5: Title", "0.5", "Title"),
        ("Epic 1a-plus: Title", "1a.plus", "Title"),
        ("Epic F1: Title", "f1", "Title"),
        ("Epic A: Title", "a", "Title"),
        ("EPIC-013 : Titre", "13", "Titre"),
        ("EPIC-CRM-03: Title", "crm.3", "Title"),
        ("🚀 Epic 2: Title", "2", "Title"),
        ("[NEW] Epic 2: Title", "2", "Title"),
        ("[Epic 2: Title](#epic-2)", "2", "Title"),
        ("[Epic 2] Title", "2", "Title"),
        ('<a id="e2"></a>Epic 2: Title', "2", "Title"),
        ("3. Epic 2: Title", "2", "Title"),
        ("2.1 Epic 2: Title", "2", "Title"),
        ("Epic 2 (Phase 2): Title", "2", "Title"),
        ("Epic 9 Stories: Title", "9", "Title"),
        ("Epic 2: Title <!-- note -->", "2", "Title"),
        ("Epic 2: Title ##", "2", "Title"),
        ("Épica 2: Título", "2", "Título"),
        ("Épico 2: Título", "2", "Título"),
        ("Эпик 2: Название", "2", "Название"),
        ("史诗 2：标题", "2", "标题"),
        ("史诗2：标题", "2", "标题"),
        ("エピック 2: 題", "2", "題"),
    ],
)
def test_headings_that_name_an_epic(heading, number, title):
    named = read_heading(heading)

    assert named is not None
    assert (named.kind, named.number, named.title, named.is_strong) == (RowKind.EPIC, number, title, True)


@pytest.mark.parametrize(
    ("heading", "number", "title"),
    [
        ("Story 1.1: Title", "1.1", "Title"),
        ("Story 1.1 : Titre", "1.1", "Titre"),
        ("Story 1.1a：标题", "1.1a", "标题"),
        ("Story 1A.1: Title", "1a.1", "Title"),
        ("Story 0.5.1: Title", "0.5.1", "Title"),
        ("Story 1.0.2: Title", "1.0.2", "Title"),
        ("Story 4.5-1: Title", "4.5.1", "Title"),
        ("Story 6-2: Title", "6.2", "Title"),
        ("Story 01.02: Title", "1.2", "Title"),
        ("Story 1a-plus.1: Title", "1a.plus.1", "Title"),
        ("STORY-044 : Titre", "story.44", "Titre"),
        ("User Story 1.1: Title", "1.1", "Title"),
        ("[CANDIDATE] Story 3.4: Title", "3.4", "Title"),
        ("✅ Story 3.4 — Title", "3.4", "Title"),
        ("Historia 1.1: Título", "1.1", "Título"),
        ("História 1.1: Título", "1.1", "Título"),
        ("История 1.1: Название", "1.1", "Название"),
        ("故事 1.1：标题", "1.1", "标题"),
        ("用户故事1.1：标题", "1.1", "标题"),
        ("ストーリー 1.1: 題", "1.1", "題"),
    ],
)
def test_headings_that_name_a_story(heading, number, title):
    named = read_heading(heading)

    assert named is not None
    assert (named.kind, named.number, named.title, named.is_strong) == (RowKind.STORY, number, title, True)


@pytest.mark.parametrize(
    "heading",
    [
        *("Epic List", "Epic Breakdown", "Epics 1-8", "Sample - Epic Breakdown", "Story Map - Epic 1", "Story"),
        *("Stories - Epic 1", "Story Guidelines Reference", "Epic Structure Overview", "FR → Story matrix", ""),
        *("Phase 1: Core (Epics 1-8)", "History 1.1: of it", "Implementation Timeline - Epic 1", "Epic 与 Story"),
    ],
)
def test_headings_that_name_neither(heading):
    assert read_heading(heading) is None


@pytest.mark.parametrize(
    ("heading", "title", "deleted"),
    [
        ("~~Epic 4: Safety~~ — DELETED", "Safety", True),
        ("~~Story 1B.3: Tooling~~ — ABSORBED INTO Story 1A.1", "Tooling", True),
        ("~~Epic 4: Safety~~", "Safety", True),
        ("~~**Epic 4: Safety**~~", "Safety", True),
        ("Epic 4: Safety — DELETED", "Safety", True),
        ("Epic 4: Safety (removed)", "Safety", True),
        ("Epic 4 (DELETED): Safety", "Safety", True),
        ("Epic 4: ~~Old~~ New", "~~Old~~ New", False),
        ("Epic 4: Restore deleted files", "Restore deleted files", False),
    ],
)
def test_a_struck_heading_is_deleted_and_keeps_its_title(heading, title, deleted):
    named = read_heading(heading)

    assert named is not None
    assert (named.title, named.is_deleted) == (title, deleted)


def test_a_deleted_epic_is_kept_apart_from_the_others_and_needs_no_stories():
    found = epics("## ~~Epic 4: Safety~~ — DELETED\n\n## Epic 5: Live\n\n### Story 5.1: A\n")

    assert [(epic.number, epic.is_deleted) for epic in found.epics] == [("4", True), ("5", False)]
    assert found.diagnostics == ()


@pytest.mark.parametrize("order", [1, -1])
def test_a_number_given_again_after_a_deletion_is_the_new_story(order):
    headings = ["### ~~Story 1.3: Old~~ — ABSORBED INTO Story 1.1\ntext\n", "### Story 1.3: New\n"][::order]
    found = epics("## Epic 1: A\n" + "".join(headings))

    assert [(story.title, story.is_deleted) for story in found.stories()] == [("New", False)]
    assert found.diagnostics == ()


def test_an_epic_deleted_in_the_list_but_alive_in_the_body_is_alive():
    found = epics("### ~~Epic 4: Old~~\n\n## Epic 4: New\n\n### Story 4.1: A\n")

    assert [(epic.title, epic.is_deleted, epic.line) for epic in found.epics] == [("New", False, 3)]


@pytest.mark.parametrize("heading", ["Epic 4 Summary", "Epic 1 Status Detail ✅", "Epic 9 Dependency Graph"])
def test_a_heading_about_an_epic_is_no_second_epic(heading):
    number = heading.split()[1]
    found = epics(f"## Epic {number}: Title\n\n### Story {number}.1: A\n\n## {heading}\n\nText\n")

    assert [(epic.number, epic.title, epic.line) for epic in found.epics] == [(number, "Title", 1)]


def test_epics_without_any_mark_after_their_number_are_found_too():
    assert shape(epics("## Epic 1 Foundation\n\n### Story 1.1 Set up\n")) == {"1": ["1.1"]}


@pytest.mark.parametrize(
    "hidden",
    [
        "```\n## Epic 9: No\n```",
        "```markdown\n## Epic 9: No\n```",
        "~~~\n## Epic 9: No\n~~~",
        "~~~\n```\n## Epic 9: No\n~~~",
        "````\n```\n## Epic 9: No\n```\n## Epic 9: No\n````",
        "  ```\n## Epic 9: No\n  ```",
        "```gherkin\na\n```yaml\n## Epic 9: No\n```\nb\n```",
        "<!-- ## Epic 9: No -->",
        "<!--\n## Epic 9: No\n-->",
        "    ## Epic 9: No",
    ],
)
def test_code_and_comments_hold_no_epics(hidden):
    found = epics(f"## Epic 1: A\n\n### Story 1.1: B\n\n{hidden}\n\n### Story 1.2: C\n")

    assert shape(found) == {"1": ["1.1", "1.2"]}
    assert found.diagnostics == ()


def test_inline_code_at_the_start_of_a_line_opens_no_fence():
    assert shape(epics("## Epic 1: A\n```x``` is code\n### Story 1.1: B\n")) == {"1": ["1.1"]}


@pytest.mark.parametrize("opening", ["```python", "~~~", "<!-- a"])
def test_a_block_that_never_ends_is_said_with_its_line(opening):
    found = epics(f"## Epic 1: A\n### Story 1.1: B\n{opening}\n### Story 1.2: C\n")

    assert shape(found) == {"1": ["1.1"]}
    assert codes(found) == [("unclosed-block", 3)]


def test_a_fence_whose_nested_reading_never_ends_is_read_strictly():
    assert shape(epics("## Epic 1: A\n```md\n```js\n```\n### Story 1.1: B\n")) == {"1": ["1.1"]}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_change_neither_lines_nor_sections(end):
    text = TEMPLATE.replace("\n", end)
    found = epics(text)

    assert [(epic.title, epic.line) for epic in found.epics] == [("Accounts", 18), ("Finding things", 30)]
    story = next(found.stories())
    assert text[story.start : story.end].strip().startswith("As a visitor.")


def test_a_byte_order_mark_does_not_hide_the_front_matter():
    assert shape(read_epics(TextFile("e.md", b"\xef\xbb\xbf" + TEMPLATE.encode()))) == {
        "1": ["1.1", "1.2"],
        "2": ["2.1"],
    }


def test_a_story_belongs_to_the_epic_of_its_number_wherever_it_stands():
    found = epics("## Epic 1: A\n### Story 2.1: B\n### Story 1.1: C\n## Epic 2: D\n### Story 2.2: E\n")

    assert shape(found) == {"1": ["1.1"], "2": ["2.1", "2.2"]}


def test_the_longest_epic_number_wins_a_story():
    found = epics(
        "# Epic 4: A\n## Story 4.5: B\n# Epic 4.5: C\n## Story 4.5-1: D\n# Epic 1: E\n## Story 1.0.2: F\n"
    )

    assert shape(found) == {"4": ["4.5"], "4.5": ["4.5.1"], "1": ["1.0.2"]}


def test_a_story_numbered_within_its_epic_gets_the_epics_number():
    assert shape(epics("## Epic 2: A\n### Story 1: B\n### Story 2: C\n")) == {"2": ["2.1", "2.2"]}


def test_a_heading_may_name_epic_and_story():
    found = epics("## Epic 2: A\n### Epic 2 - Story 1: B\n### Epic 2 / Story 2.2: C\n")

    assert shape(found) == {"2": ["2.1", "2.2"]}
    struck = read_heading("~~Epic 2 - Story 1: B~~")
    assert struck is not None
    assert (struck.number, struck.epic_number, struck.is_deleted) == ("1", "2", True)


def test_ids_of_their_own_belong_to_the_epic_above_them():
    assert shape(epics("# EPIC-013 : A\n### STORY-019 : B\n### STORY-020 : C\n")) == {
        "13": ["story.19", "story.20"]
    }


def test_a_story_of_no_epic_is_kept_and_said():
    found = epics("## Epic 1: A\n### Story 1.1: B\n### Story 7.1: C\n")

    assert [story.number for story in found.orphans] == ["7.1"]
    assert codes(found) == [("story-without-epic", 3)]


def test_two_titles_for_one_number_are_said_at_the_second():
    found = epics("## Epic 1: A\n### Story 1.1: B\n### Story 1.1: Something else\n")

    assert [story.title for story in found.stories()] == ["B"]
    assert codes(found) == [("duplicate-story", 3)]


def test_the_same_story_twice_is_no_problem_and_the_fuller_section_is_taken():
    found = epics("## Epic 1: A\n### Story 1.1: B.\n\n## Epic 1: A\n### Story 1.1: **B**\nText of it.\n")

    assert [(story.title, story.line) for story in found.stories()] == [("B", 5)]
    assert found.diagnostics == ()


def test_an_epic_without_stories_is_noted():
    assert codes(epics("## Epic 1: A\n\n## Epic 2: B\n### Story 2.1: C\n")) == [("epic-without-stories", 1)]


@pytest.mark.parametrize(
    "heading", ["Epic: Accounts", "Epic TBD: Accounts", "Epic ??: Accounts", "**Epic** - Accounts"]
)
def test_an_epic_heading_without_a_number_is_said(heading):
    assert codes(epics(f"# Plan\n\n## {heading}\n")) == [("epic-without-number", 3)]


def test_several_files_are_one_plan_and_one_unreadable_file_does_not_stop_it(tmp_path: Path):
    (tmp_path / "index.md").write_text("# Epics\n\n## Epic 1: A\n\n## Epic 2: B\n")
    (tmp_path / "epic-1.md").write_text("# Epic 1: A\n\n## Story 1.1: C\n")
    (tmp_path / "epic-2.md").write_text("## Story 2.1: D\n")
    (tmp_path / "epic-3.md").write_bytes(b"# Epic 3: \xff\n")
    paths = [str(tmp_path / name) for name in ("index.md", "epic-1.md", "epic-2.md", "epic-3.md", "gone.md")]

    found = read_all_epics(paths)

    assert shape(found) == {"1": ["1.1"], "2": ["2.1"]}
    assert [story.file for story in found.stories()] == paths[1:3]
    assert [(d.code, d.location.file) for d in found.diagnostics] == [
        ("unreadable", paths[3]),
        ("unreadable", paths[4]),
    ]


def test_a_title_is_bounded():
    named = read_heading("Epic 1: " + "x" * 10_000)

    assert named is not None
    assert len(named.title) <= MAX_TITLE


@pytest.mark.parametrize(
    "nasty",
    [
        *(
            "# " + "[" * 3000,
            "## Epic 1" + "." * 3000,
            "## Epic " + "1." * 3000,
            "## " + "~~" * 3000 + "Epic 1: x",
        ),
        *(
            "## Story 1" + " " * 3000 + "x",
            "## " + "[a](" * 3000,
            "## Epic 1 (" + "(" * 3000,
            "## Epic 1a-" + "a" * 3000,
        ),
    ],
)
def test_time_grows_with_the_size_whatever_the_text(nasty):
    started = time.perf_counter()
    epics((nasty + "\n") * 20)
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize("line", ["```a\n```a\n```\n", "```a\n", "<!--\n", "## Review\n- [ ] x\n", "~~~\n", "#\n"])
def test_many_blocks_are_read_in_linear_time(line):
    started = time.perf_counter()
    epics(line * 20_000)
    assert time.perf_counter() - started < 10


PIECES = [
    *("#", "## ", "### ", "Epic", " Epic 1", "Story", " 1.1", ": ", "：", "~~", "**", "```", "\n", "\r\n", "\r"),
    *(
        "<!--",
        "-->",
        "[",
        "](",
        "- [ ] ",
        "🚀",
        "DELETED",
        "x",
        "\t",
        "status: ",
        "Status",
        "| ",
        "`",
        "→",
        "---\n",
    ),
]
MARKDOWN = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=60).map("".join)


@given(MARKDOWN)
def test_no_text_breaks_the_reader(text):
    encoded = text.encode("utf-8", "ignore").replace(b"\0", b"")
    decoded = TextFile("e.md", encoded)
    found = read_epics(decoded)

    for story in found.stories():
        assert 0 <= story.start <= story.end <= len(decoded.text)
    numbers = [story.number for story in found.stories()]
    assert len(numbers) == len(set(numbers))


WORDS = st.text(st.characters(categories=["Lu", "Ll", "Lo"], exclude_characters="ßµ"), min_size=1, max_size=8)
TITLES = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
DECORATIONS = ["{}", "**{}**", "🚀 {}", "[NEW] {}", "{} ##", "*{}*", "✅ **{}**", "<a id='x'></a> {}"]
MARKS = [": ", " : ", "：", " - ", " — ", ". "]
NOISE = ["", "Some text.\n", "```\n## Epic 99: No\n```\n", "<!-- ### Story 1.99: No -->\n", "#### Notes\n\nmore\n"]


@st.composite
def plans(draw: st.DrawFn) -> tuple[dict[str, tuple[str, list[tuple[str, str]]]], str]:
    """Known epics and stories, and a file that writes them in some of the ways projects do."""
    numbers = draw(
        st.lists(st.sampled_from(["1", "2", "3", "10", "1A", "0.5", "F1", "33"]), min_size=1, unique=True)
    )
    end = draw(st.sampled_from(["\n", "\r\n"]))
    level = draw(st.sampled_from([1, 2, 3]))
    mark, decoration = draw(st.sampled_from(MARKS)), draw(st.sampled_from(DECORATIONS))
    plan: dict[str, tuple[str, list[tuple[str, str]]]] = {}
    body, summary = "", "## Epic List\n\n"
    for number in numbers:
        title = draw(TITLES)
        labels = draw(st.lists(st.sampled_from(["1", "2", "2b", "3", "10"]), min_size=1, max_size=4, unique=True))
        stories = [(f"{number}.{label}".lower(), draw(TITLES)) for label in labels]
        plan[number.lower()] = (title, stories)
        summary += f"### Epic {number}: {title}\n\n"
        body += f"{'#' * level} {decoration.format(f'Epic {number}{mark}{title}')}\n\n"
        for label, (_, story_title) in zip(labels, stories, strict=True):
            heading = decoration.format(f"Story {number}.{label}{mark}{story_title}")
            body += f"{'#' * (level + 1)} {heading}\n\n{draw(st.sampled_from(NOISE))}\n"
    text = (summary if draw(st.booleans()) else "# Plan\n\n") + body
    return plan, text.replace("\n", end)


@given(plans())
def test_what_was_planned_is_what_is_found(generated):
    plan, text = generated
    found = epics(text)

    assert {epic.number: (epic.title, [(s.number, s.title) for s in epic.stories]) for epic in found.epics} == plan
    assert found.diagnostics == ()


# Counted by hand with grep, code fences left out: epics, stories, first and last of each.
COUNTED = {
    "1987-Dmytro__Mail-Agent.md": (4, 41, "1", "4", "1.1", "4.8"),
    "AXOVIA-ASPEN__flipper-ai.md": (13, 75, "1", "14", "1.1", "14.10"),
    "Alberto-Codes__docvet.md": (5, 19, "25", "29", "25.1", "29.4"),
    "Alenryuichi__ai_trend_radar.md": (4, 18, "1", "4", "1.1", "4.4"),
    "Andy-ZhangZilin__BI-DW-song-Request.md": (8, 27, "1", "8", "1.1", "8.3"),
    "Axl59110__linktracker.md": (1, 11, "13", "13", "story.19", "story.29"),
    "Casys-AI__casys-pml.md": (3, 22, "1", "3", "1.1", "3.6"),
    "ClaudioSBezerra__FB_SMARTPICK.md": (7, 30, "1", "7", "1.1", "7.4"),
    "Fledgely__fledgely.md": (62, 396, "0.5", "52", "0.5.1", "52.8"),
    "HaiLammm__star-light-project.md": (7, 33, "1", "7", "1.1", "7.4"),
    "Hexalith__Hexalith.EventStore.md": (8, 110, "1", "8", "1.1", "8.11"),
    "Hexalith__Hexalith.Works.md": (4, 23, "1", "4", "1.1", "4.8"),
    "JeiKeiLim__vibe-dash.md": (10, 66, "1", "12", "1.1", "12.2"),
    "O-Side-Systems__efofx.md": (7, 45, "1", "7", "1.1", "7.5"),
    "keliihall__ScholarSense-bmad-method.md": (8, 88, "1", "8", "1.1a", "8.4"),
    "stavatar__bmad-ralph.md": (1, 8, "4", "4", "4.1", "4.8"),
    "zookanalytics__bmad-orchestrator.md": (8, 32, "1", "8", "1.1", "8.3"),
}


@pytest.mark.parametrize("name", sorted(COUNTED))
def test_real_files_hold_what_was_counted_by_hand(corpus: Path, name: str):
    found = read_epics(read_text(str(corpus / "epics" / name)))
    stories = [story.number for story in found.stories()]
    numbers = [epic.number for epic in found.epics]

    assert (len(numbers), len(stories), numbers[0], numbers[-1], stories[0], stories[-1]) == COUNTED[name]
    assert not found.orphans


def test_deleted_and_planned_epics_of_real_files(corpus: Path):
    adk = read_epics(read_text(str(corpus / "epics" / "Alberto-Codes__gepa-adk.md")))
    assert {epic.number for epic in adk.epics if epic.is_deleted} == {"4", "5", "7"}
    assert {epic.number for epic in adk.epics if not epic.is_deleted} == {"1a", "1b", "2", "3", "6", "8"}
    assert [s.title for s in adk.stories() if s.number == "1b.3"] == ["Clean Up ty Type-Check Diagnostics"]

    bolet = read_epics(read_text(str(corpus / "epics" / "Brownbull__gmni_boletapp.md")))
    assert len(bolet.epics) == 22
    assert len(list(bolet.stories())) == 19
    assert {"f1", "f6", "16"} <= {epic.number for epic in bolet.epics if not epic.stories}


def test_every_real_file_is_read_at_once(corpus: Path):
    files = sorted((corpus / "epics").iterdir())
    texts = [read_text(str(path)) for path in files]
    largest = max(texts, key=lambda text: len(text.raw))
    assert len(largest.raw) > 600_000

    for text in texts:
        assert read_epics(text).epics
    best = min(_seconds(largest) for _ in range(5))
    assert best < 1  # 15 ms where it was measured; a bound for the growth, not a benchmark


def _seconds(text: TextFile) -> float:
    started = time.perf_counter()
    read_epics(text)
    return time.perf_counter() - started


# Finding the epics: whole, several, sharded, left over.


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# Epic 1: A\n")


def found(root: Path, *others: str) -> list[str]:
    paths = find_epics_files(str(root / "plan"), [str(root / other) for other in others])
    return [os.path.relpath(path, root / "plan") for path in paths]


@pytest.mark.parametrize("name", ["epics.md", "@epics.md", "Epics.md", "epics-002.md", "playground-epics.md"])
def test_one_file(tmp_path: Path, name: str):
    make(tmp_path, f"plan/{name}", "plan/prd.md", "plan/architecture.md")

    assert found(tmp_path) == [name]


def test_several_side_by_side_with_the_main_one_first(tmp_path: Path):
    make(tmp_path, *(f"plan/{name}" for name in ("epics-review.md", "epics.md", "epics-10.md", "epics-2.md")))

    assert found(tmp_path) == ["epics.md", "epics-10.md", "epics-2.md", "epics-review.md"]


@pytest.mark.parametrize(
    "name",
    [
        *("epics-validation-report.md", "epics-template.md", "epic-1-retro-2026-01-02.md", "epic-1-context.md"),
        *(
            "epics-readiness-report-2026-01-02.md",
            "epic-3-tech-spec.md",
            "epics.md.bak",
            "epics.yaml",
            "archive/epics.md",
        ),
    ],
)
def test_what_is_only_about_epics_is_left_out(tmp_path: Path, name: str):
    make(tmp_path, f"plan/{name}")

    assert found(tmp_path) == []


def test_a_sharded_folder_in_natural_order(tmp_path: Path):
    make(tmp_path, *(f"plan/epics/{name}" for name in ("index.md", "epic-10-b.md", "epic-2-a.md", "notes.md")))

    assert found(tmp_path) == ["epics/index.md", "epics/epic-2-a.md", "epics/epic-10-b.md"]


def test_a_whole_file_hides_the_shards(tmp_path: Path):
    make(tmp_path, "plan/epics.md", "plan/epics/index.md", "plan/epics/epic-1.md")

    assert found(tmp_path) == ["epics.md"]


def test_other_folders_count_only_where_the_first_has_none(tmp_path: Path):
    make(tmp_path, "docs/epics.md")
    assert found(tmp_path, "docs") == ["../docs/epics.md"]
    make(tmp_path, "plan/epics.md")
    assert found(tmp_path, "docs") == ["epics.md"]


def test_components_with_an_epics_file_each(tmp_path: Path):
    make(tmp_path, "plan/orchestrator/epics.md", "plan/agent/epics.md")

    assert found(tmp_path) == ["agent/epics.md", "orchestrator/epics.md"]


def test_no_folder_at_all(tmp_path: Path):
    assert found(tmp_path, "gone") == []
