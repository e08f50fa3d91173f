"""Story files: tasks, criteria, File List and findings, in hand-made and in real files."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.story_file import (
    StoryFile,
    StoryVerdict,
    looks_like_path,
    read_criteria,
    read_story,
    unsafe_path_reason,
)
from bmad_autopilot.io.files import TextFile, read_text

STORY = """\
---
baseline_commit: 0123456789abcdef
---

# Story 1.2: Sign in

Status: review

## Story

As a visitor, I want to sign in.

## Acceptance Criteria

1. **Given** an account
   **When** they sign in
   - a nested point
2. A second one

## Tasks / Subtasks

- [x] Task 1: the form (AC: #1)
  - [x] Subtask 1.1
    - [ ] deeper
- [ ] Task 2
\t- [X] Subtask 2.1

```
- [ ] not a task
```

### Review Follow-ups (AI)

- [x] [AI-Review][High] Fix the leak
- [ ] **[AI-Review][Med]** Name it

### Review Findings

- [ ] [Review][Decision] Keep both? [src/a.py:3]
- [x] [Review][Patch] Off by one
- [x] [Review][Defer] Slow query — deferred

## Dev Notes

- [ ] no task either

## Dev Agent Record

### File List

**New:**

- `src/a.py` (new)
- `src/b.py`, `src/c.py` — two at once
- src/plain.py - changed
- docs/readme.md（更新）
- NEW: `src/d.py`
- [src/e.py](../src/e.py)
- `../outside.py`
- /etc/passwd
- None
- _Note: a/b were taken in elsewhere_

| File | Action |
|------|--------|
| `src/f.py` | Created |

## Change Log

## Senior Developer Review (AI)

**Outcome:** Changes Requested

### Outcome

**✅ APPROVED** - after fixes
"""


def story(text: str) -> StoryFile:
    return read_story(TextFile("1-2-sign-in.md", text.encode()))


@pytest.fixture(params=["\n", "\r\n"])
def sample(request: pytest.FixtureRequest) -> StoryFile:
    return story(STORY.replace("\n", request.param))


def test_the_heading_gives_title_and_number(sample):
    assert (sample.title, sample.number) == ("Sign in", "1.2")
    assert sample.status is not None
    assert (sample.status.meaning, sample.status.line) == ("review", 7)
    assert sample.baseline_commit == "0123456789abcdef"
    assert sample.has_change_log


def test_tasks_keep_their_lines_and_nesting(sample):
    assert [(task.text, task.is_done, task.depth) for task in sample.tasks] == [
        ("Task 1: the form (AC: #1)", True, 0),
        ("Subtask 1.1", True, 1),
        ("deeper", False, 2),
        ("Task 2", False, 0),
        ("Subtask 2.1", True, 1),
    ]
    assert sample.tasks[0].line == 22
    assert (sample.tasks_done, len(sample.tasks)) == (3, 5)


def test_findings_of_every_era_are_told_from_tasks(sample):
    assert [(finding.kind, finding.is_done) for finding in sample.findings] == [
        ("high", True),
        ("medium", False),
        ("decision", False),
        ("patch", True),
        ("defer", True),
    ]
    assert [finding.text for finding in sample.open_findings] == ["Name it", "Keep both? [src/a.py:3]"]


def test_the_last_review_gives_the_outcome(sample):
    assert sample.outcome is not None
    assert (sample.outcome.raw, sample.outcome.verdict) == ("✅ APPROVED", StoryVerdict.APPROVED)


def test_the_file_list_is_cleaned_and_what_leaves_the_project_is_refused(sample):
    assert [file.path for file in sample.files] == [
        *(
            "src/a.py",
            "src/b.py",
            "src/c.py",
            "src/plain.py",
            "docs/readme.md",
            "src/d.py",
            "src/e.py",
            "src/f.py",
        ),
    ]
    refused = [d for d in sample.diagnostics if d.code == "unsafe-path"]
    assert [(d.location.line, "relative" in (d.hint or "")) for d in refused] == [(59, True), (60, True)]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("1. a\n2. b\n   - c\n3) d\n", 3),
        ("### AC1: a\n\n1. x\n2. y\n\n### AC2: b\n", 2),
        ("### Scenario: a\n\n### Scenario: b\n", 2),
        ("### Functional\n\n1. a\n2. b\n\n### Other\n\n3. c\n", 3),
        ("**AC #1:** a\n- how\n\n**AC #2:** b\n", 2),
        ("- [ ] AC1: a\n- [x] AC2: b\n", 2),
        ("**Given** a\n**When** b\n- c\n\n**Given** d\n", 2),
        ("- a\n  - b\n- c\n", 2),
        ("", 0),
    ],
)
def test_criteria_are_counted_in_the_form_they_have(body, count):
    assert story(f"# Story 1.1: T\n\n## Acceptance Criteria\n\n{body}\n## Tasks\n\n1. no\n").criteria == count


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [
        ("**Outcome:** Approve", StoryVerdict.APPROVED),
        ("**Review Outcome:** Changes Requested (all fixed)", StoryVerdict.CHANGES_REQUESTED),
        ("**Reviewer:** A · **Outcome:** ✅ Approve · more", StoryVerdict.APPROVED),
        ("Outcome: Blocked", StoryVerdict.BLOCKED),
        ("Verdict: not approved", StoryVerdict.CHANGES_REQUESTED),
        ("Outcome: see below", StoryVerdict.UNKNOWN),
        ("### Outcome\n\n**Changes Requested**", StoryVerdict.CHANGES_REQUESTED),
    ],
)
def test_outcomes_are_understood(outcome, verdict):
    found = story(f"# Story 1.1: T\n\n## Senior Developer Review (AI)\n\n{outcome}\n").outcome

    assert found is not None
    assert found.verdict is verdict


def test_an_outcome_outside_a_review_says_nothing():
    assert story("# Story 1.1: T\n\n## Dev Notes\n\nOutcome: Approve\n\n### Outcome\n\nApproved\n").outcome is None


@pytest.mark.parametrize(
    ("matter", "line"), [("a: b: c\n", 2), ("ok: 1\n\t- x\n", 3), ("- a\n- b\n", 2), ("x: *y\n", 2)]
)
def test_broken_front_matter_is_said_with_its_line_and_the_rest_is_read(matter, line):
    found = story(f"---\n{matter}---\n# Story 1.2: T\n\nStatus: done\n")

    assert [(d.code, d.location.line) for d in found.diagnostics] == [("bad-front-matter", line)]
    assert found.number == "1.2"
    assert found.status is not None


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("# Story 1.1: T\n", ["no-status"]),
        ("# Story 1.1: T\n\nStatus: finnished\n", ["unknown-status"]),
        ("---\nstatus: done\n---\n# Story 1.1: T\n\nStatus: review\n", ["two-statuses"]),
        ("---\nstatus: Done\n---\n# Story 1.1: T\n\nStatus: done\n", []),
    ],
)
def test_a_status_that_helps_nobody_is_said(text, codes):
    assert [d.code for d in story(text).diagnostics] == codes


def test_an_empty_file_is_an_empty_story():
    found = story("")
    assert (found.title, found.number, found.status, found.tasks) == ("", None, None, ())


@pytest.mark.parametrize(
    "path", ["../x", "a/../../b", "/etc/passwd", "~/x", "C:\\x", "https://x/y", "a\tb/c", "x" * 600]
)
def test_unsafe_paths(path):
    assert unsafe_path_reason(path) is not None


@pytest.mark.parametrize("path", ["a.py", "app/(auth)/[id]/page.tsx", "a..b/c", ".env", "src/", "docs/My File.md"])
def test_safe_paths(path):
    assert unsafe_path_reason(path) is None
    assert looks_like_path(path)


@pytest.mark.parametrize("text", ["None", "foo()", "a sentence with a/slash in it", "", "...", "42"])
def test_words_are_no_paths(text):
    assert not looks_like_path(text)


PIECES = [
    *(
        "# ",
        "## ",
        "### ",
        "Tasks\n",
        "File List\n",
        "Acceptance Criteria\n",
        "- [ ] ",
        "  - [x] ",
        "[AI-Review][High] ",
    ),
    *(
        "[Review][Patch] ",
        "Status: ",
        "done",
        "\n",
        "\r\n",
        "---\n",
        "a: b\n",
        "`src/a.py`",
        " (new)",
        "../x",
        "| ",
        "```\n",
    ),
    *(
        "Senior Developer Review (AI)\n",
        "Outcome: ",
        "Approve",
        "### Outcome\n",
        "1. ",
        "Given ",
        "Review Findings\n",
        "**",
    ),
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=60).map("".join))
def test_no_text_breaks_the_reader(text):
    found = story(text.encode("utf-8", "ignore").decode().replace("\0", ""))

    assert all(unsafe_path_reason(file.path) is None for file in found.files)
    assert found.tasks_done <= len(found.tasks)


@pytest.mark.parametrize(
    "line",
    [
        "## Review Findings\n- [ ] x\n",
        "## Tasks\n- [ ] x\n",
        "## File List\n- `a/b`\n",
        "### Outcome\nx\n",
        "## Review\n",
    ],
)
def test_many_sections_are_read_in_linear_time(line):
    started = time.perf_counter()
    story(line * 15_000)
    assert time.perf_counter() - started < 10


# Read and counted by hand: number, status, line, criteria, tasks done, all tasks, top-level tasks, files,
# findings, verdict, baseline.
EVENT_STORE_BASE = "67b462de3f87993b72671e68c760573a83f96bc4"
A, C = StoryVerdict.APPROVED, StoryVerdict.CHANGES_REQUESTED
READ = {
    "1987-Dmytro__Mail-Agent.md": ("1.8", "done", 3, 8, 116, 116, 13, 13, 3, A, None),
    "AXOVIA-ASPEN__flipper-ai.md": ("7.1", "done", 3, 5, 43, 43, 7, 53, 18, A, None),
    "Alberto-Codes__docvet.md": ("1.1", "done", 3, 5, 14, 14, 4, 2, 0, A, None),
    "Alberto-Codes__gepa-adk.md": ("1a.3", "done", 3, 6, 34, 34, 5, 11, 0, A, None),
    "Alenryuichi__ai_trend_radar.md": ("1.1", "review", 3, 3, 20, 20, 5, 5, 0, None, None),
    "Andy-ZhangZilin__BI-DW-song-Request.md": ("1.1", "done", 3, 4, 20, 20, 5, 17, 13, None, None),
    "Brownbull__gmni_boletapp.md": ("1.1", "review", 3, 5, 65, 65, 65, 36, 0, A, None),
    "Casys-AI__casys-pml.md": ("14.8", "done", 3, 10, 78, 78, 15, 10, 0, A, None),
    "Fledgely__fledgely.md": ("10.4", "done", 3, 6, 15, 15, 4, 2, 0, A, None),
    "HaiLammm__star-light-project.md": ("1.2", "done", 3, 4, 22, 22, 4, 3, 2, None, None),
    "Hexalith__Hexalith.EventStore.md": ("1.9", "done", 7, 13, 52, 52, 10, 84, 27, C, EVENT_STORE_BASE),
    "Hexalith__Hexalith.Works.md": ("3.1", "done", 7, 5, 48, 48, 10, 17, 2, A, "c1ba6bb"),
    "JeiKeiLim__vibe-dash.md": ("12.2", "done", 3, 4, 4, 4, 4, 5, 0, None, None),
    "O-Side-Systems__efofx.md": ("1.1", "review", 3, 1, 8, 8, 8, 13, 0, None, None),
    "keliihall__ScholarSense-bmad-method.md": ("1.1a", "done", 7, 3, 23, 23, 5, 9, 115, None, "NO_VCS"),
    "stavatar__bmad-ralph.md": ("3.7", "done", 3, 6, 32, 32, 7, 7, 7, C, None),
    "thebenlamm__bmad-autopilot.md": ("6.2", "review", 3, 6, 78, 92, 19, 0, 0, None, None),
    "zookanalytics__bmad-orchestrator.md": ("1.1", "done", 3, 4, 64, 64, 12, 25, 0, A, None),
}


@pytest.mark.parametrize("name", sorted(READ))
def test_real_stories_hold_what_was_read_by_hand(corpus: Path, name: str):
    found = read_story(read_text(str(corpus / "stories" / name)))
    assert found.status is not None
    top = sum(task.depth == 0 for task in found.tasks)

    assert (
        *(
            found.number,
            found.status.meaning,
            found.status.line,
            found.criteria,
            found.tasks_done,
            len(found.tasks),
        ),
        *(
            top,
            len(found.files),
            len(found.findings),
            found.outcome and found.outcome.verdict,
            found.baseline_commit,
        ),
    ) == READ[name]


def test_every_real_story_is_read_without_complaint(corpus: Path):
    for path in sorted((corpus / "stories").iterdir()):
        found = read_story(read_text(str(path)))
        assert found.title, path.name
        assert found.number, path.name
        assert found.status is not None, path.name
        assert not found.diagnostics, path.name


@pytest.mark.parametrize(
    ("section", "found"),
    [
        ("1. One\n2) Two **bold**\n", ("One", "Two **bold**")),
        ("- [ ] One\n- [x] Two\n* Three\n", ("One", "Two", "Three")),
        ("1. **Given** an account\n   **When** they sign in\n   - a nested point\n2. Two\n", None),
        ("The page is there.\n\nIt is fast.\n", ("The page is there.", "It is fast.")),
        ("### AC1: The page\n\nIt is there.\n", ("It is there.",)),
        ("```\n1. in a listing\n```\n", ()),
        ("", ()),
    ],
)
def test_criteria_are_told_one_by_one(section, found):
    text = f"# Story 1.1: T\n\n- no criterion\n\n## Acceptance Criteria\n\n{section}\n## Tasks\n\n1. no\n"
    if found is None:
        found = ("**Given** an account **When** they sign in", "a nested point", "Two")
    assert read_criteria(TextFile("s", text.encode())) == found
    assert read_criteria(TextFile("s", text.replace("\n", "\r\n").encode())) == found


def test_a_story_without_such_a_section_has_none():
    assert read_criteria(TextFile("s", b"# Story 1.1: T\n\n## Tasks\n\n- one\n")) == ()
