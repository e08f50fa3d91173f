"""What each kind of step must leave, and what untidy but honest agents leave instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.owes import Owes
from bmad_autopilot.gates.look import Document
from bmad_autopilot.gates.objections import Kind
from bmad_autopilot.gates.work import judge_work
from tests.gates.looks import STORY, STORY_PATH, codes, look

SPEC_PATH = "_bmad-output/implementation-artifacts/spec-1-2-sign-in.md"


def spec(status: str, rest: str = "") -> Document:
    return Document(SPEC_PATH, f"---\ntitle: Sign in\nstatus: {status}\n---\n\n# Spec\n{rest}".encode())


def test_honest_work_meets_no_objection():
    assert judge_work(look()) == ()


@pytest.mark.parametrize("owes", [Owes.STORY, Owes.CODE, Owes.REVISION, Owes.VERDICT])
def test_a_step_without_a_story_file_owes_it(owes):
    found = judge_work(look(owes=owes, story=None))
    assert [(one.code, one.kind) for one in found] == [("no-story-file", Kind.OWES)]
    assert "1-2-sign-in" in found[0].message


def test_a_users_own_step_owes_nothing():
    assert codes(look(owes=Owes.NOTHING, story=None, code_differs=False, code_moved=False)) == []


@pytest.mark.parametrize(
    ("story", "missing"),
    [
        (STORY.replace("Status: review\n", ""), ["status"]),
        (STORY.replace("## Acceptance Criteria", "## Notes"), ["acceptance criteria"]),
        (STORY[: STORY.index("## Tasks")], ["tasks"]),
        ("# Story 1.2: Sign in\n", ["status", "acceptance criteria", "tasks"]),
        ("", ["status", "acceptance criteria", "tasks"]),
    ],
)
def test_a_story_nobody_can_work_from_is_incomplete(story, missing):
    found = judge_work(look(owes=Owes.STORY, story=story))
    assert [one.code for one in found] == ["story-file-incomplete"]
    assert all(f"no {word}" in found[0].message for word in missing)
    assert found[0].message.count("no ") == len(missing)


@pytest.mark.parametrize(
    "story",
    [
        STORY,
        STORY.replace("Status: review", "**Status:** Ready for Dev"),
        STORY.replace("Status: review", "Status: something-new"),
        STORY.replace("## Acceptance Criteria\n", "**Acceptance Criteria:**\n"),
        STORY.replace("- [x] ", "- "),
        STORY.replace("- [x] ", "1. ").replace("## Tasks / Subtasks", "## Implementation Plan"),
        STORY.replace("\n", "\r\n"),
        f"\ufeff{STORY}",
        STORY.replace("## Tasks / Subtasks", "## Tâches").replace("Acceptance Criteria", "Critères d'acceptation"),
        STORY.replace("1. A visitor", "**Given** a visitor").replace("2. Anyone", "**Then** anyone"),
    ],
)
def test_a_story_in_another_layout_is_a_story(story):
    assert codes(look(owes=Owes.STORY, story=story, code_differs=False)) == []


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00S", b"# Story\0\n", b"caf\xe9"])
def test_a_story_file_that_is_no_text_is_incomplete(raw):
    assert codes(look(story=raw)) == ["story-file-incomplete"]


def test_ticking_boxes_is_no_work():
    assert codes(look(code_differs=False)) == ["no-change"]


def test_a_reviser_who_changes_nothing_is_fine():
    assert codes(look(owes=Owes.REVISION, code_moved=False)) == []


@pytest.mark.parametrize("owes", [Owes.REVISION, Owes.VERDICT])
def test_undoing_the_work_is_foul_and_none_at_all_is_lacking(owes):
    found = judge_work(look(owes=owes, code_differs=False))
    assert [(one.code, one.kind) for one in found] == [("emptied", Kind.FOUL)]
    assert codes(look(owes=owes, code_differs=False, code_moved=False)) == ["no-change"]


def test_a_story_may_be_written_without_touching_code():
    assert codes(look(owes=Owes.STORY, code_differs=False, code_moved=False)) == []


@pytest.mark.parametrize(
    "story",
    [
        STORY.replace("[x]", "[ ]"),
        STORY.replace("- [x] Task 2", "- [ ] Task 2"),
        STORY.replace("- [x] Task 1", "- [ ] Task 1").replace("  - [x] Sub", "  - [ ] Sub"),
    ],
)
def test_tasks_left_open_are_owed(story):
    found = judge_work(look(story=story))
    assert [(one.code, one.kind) for one in found] == [("tasks-open", Kind.OWES)]


def test_open_tasks_are_named():
    found = judge_work(look(story=STORY.replace("- [x] Task 2", "- [ ] Task 2")))
    assert "Task 2: the message" in found[0].message
    assert "Task 1" not in found[0].message


@pytest.mark.parametrize(
    "story",
    [
        STORY.replace("  - [x] Subtask 1.1", "  - [ ] Subtask 1.1"),
        STORY.replace("- [x] Task 1", "- [ ] Task 1"),
        STORY.replace("- [x] Task 2: the message", "- [ ] Task 2: the message (optional)"),
        STORY.replace("- [x] Task 2: the message", "- [ ] ~~Task 2: the message~~"),
        STORY.replace("- [x] Task 2", "- [ ] Manual check on a phone"),
        STORY.replace("[x]", "[X]"),
        STORY.replace("[x]", "[✓]"),
        STORY.replace("- [x] ", "- "),
        STORY + "\n### Review Follow-ups (AI)\n\n- [ ] [AI-Review][Low] Name it\n",
        STORY + "\n### Review Findings\n\n- [ ] [Review][Patch] Off by one\n",
        STORY + "\n## Dev Notes\n\n- [ ] something to think of\n",
        STORY.replace("Status: review", "Status: Done"),
        STORY.replace("Status: review\n", ""),
    ],
)
def test_untidy_boxes_are_no_open_tasks(story):
    assert codes(look(story=story)) == []


@pytest.mark.parametrize("owes", [Owes.REVISION, Owes.VERDICT, Owes.STORY])
def test_only_a_developer_is_asked_for_ticked_tasks(owes):
    assert codes(look(owes=owes, story=STORY.replace("[x]", "[ ]"))) == []


def test_dropping_a_task_does_not_do_it():
    before = STORY.replace("[x]", "[ ]")
    after = STORY.replace("- [x] Task 2: the message (AC: 2)\n", "")
    found = judge_work(look(story=after, story_before=before))
    assert [one.code for one in found] == ["story-cut"]
    assert "Task 2: the message" in found[0].message


def test_dropping_a_criterion_does_not_meet_it():
    after = STORY.replace("2. Anyone else is told why not\n", "")
    assert codes(look(story=after, story_before=STORY)) == ["story-cut"]


@pytest.mark.parametrize(
    "after",
    [
        STORY,
        STORY.replace("Task 2: the message", "Task 2: the message, in two languages"),
        STORY.replace("- [x] Task 2", "- [x] Task 1b: more\n- [x] Task 2"),
        STORY.replace("Task 1: the form (AC: 1)", "**Task 1:** the form (AC 1)"),
    ],
)
def test_tasks_may_be_worded_anew_and_added_to(after):
    assert codes(look(story=after, story_before=STORY.replace("[x]", "[ ]"))) == []


@pytest.mark.parametrize("status", ["done", "in-review", "Done", "review"])
def test_a_build_ends_in_review_or_done(status):
    assert codes(look(story=None, spec=spec(status))) == []


@pytest.mark.parametrize("status", ["draft", "ready-for-dev", "in-progress", "blocked", "''", "elsewhere"])
def test_a_build_that_ended_elsewhere_is_not_done(status):
    assert codes(look(story=None, spec=spec(status))) == ["story-file-incomplete"]


def test_a_build_that_calls_itself_done_and_blocked_is_blocked():
    result = "\n## Auto Run Result\n\nStatus: blocked\nBlocking condition: unclear intent\n"
    found = judge_work(look(story=None, spec=spec("done", result)))
    assert [one.code for one in found] == ["story-file-incomplete"]
    assert "unclear intent" in found[0].message


def test_open_boxes_in_a_build_spec_are_its_own_affair():
    assert codes(look(story=None, spec=spec("done", "\n## Tasks & Acceptance\n\n- [ ] one\n- [ ] two\n"))) == []


def test_messages_stay_short_and_on_one_line():
    tasks = "".join(f"- [ ] {'long ' * 100}{number}\n" for number in range(50))
    found = judge_work(look(story=STORY + tasks.replace("long", "lo\x07ng")))
    assert len(found[0].message) < 1000
    assert "\n" not in found[0].message
    assert "45 more" in found[0].message


@given(raw=st.binary(max_size=400), before=st.binary(max_size=400), owes=st.sampled_from(Owes))
def test_no_bytes_in_a_story_file_break_the_judge(raw, before, owes):
    document = Document(STORY_PATH, raw)
    judge_work(look(owes=owes, story=raw)._replace(story_before=Document(STORY_PATH, before)))
    judge_work(look(owes=owes, story=None, spec=document))
