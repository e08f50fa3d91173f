"""What each kind of step must leave, and what untidy but honest agents leave instead."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.story_file import read_story
from bmad_autopilot.core.changes import ChangeKind, FileChange
from bmad_autopilot.core.step_output import StepOutput
from bmad_autopilot.gates.check_output import classify_failure
from bmad_autopilot.gates.evidence import Document, Evidence, ObjectionKind
from bmad_autopilot.gates.judge import judge_work, open_tasks
from bmad_autopilot.io.files import TextFile
from bmad_autopilot.io.patterns import matches_glob
from tests.gates.evidence_builder import STORY, STORY_PATH, Link, codes, look

SPEC_PATH = "_bmad-output/implementation-artifacts/spec-1-2-sign-in.md"


def spec(status: str, rest: str = "") -> Document:
    return Document(SPEC_PATH, f"---\ntitle: Sign in\nstatus: {status}\n---\n\n# Spec\n{rest}".encode())


def test_honest_work_meets_no_objection():
    assert judge_work(look()) == ()


@pytest.mark.parametrize("owes", [StepOutput.STORY, StepOutput.CODE, StepOutput.REVISION, StepOutput.VERDICT])
def test_a_step_without_a_story_file_owes_it(owes):
    found = judge_work(look(required_output=owes, story=None))
    assert [(one.code, one.kind) for one in found] == [("no-story-file", ObjectionKind.MISSING_OUTPUT)]
    assert "1-2-sign-in" in found[0].message


def test_a_users_own_step_owes_nothing():
    assert (
        codes(
            look(
                required_output=StepOutput.NOTHING,
                story=None,
                differs_from_baseline=False,
                changed_in_attempt=False,
            )
        )
        == []
    )


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
    found = judge_work(look(required_output=StepOutput.STORY, story=story))
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
    assert codes(look(required_output=StepOutput.STORY, story=story, differs_from_baseline=False)) == []


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00S", b"# Story\0\n", b"caf\xe9"])
def test_a_story_file_that_is_no_text_is_incomplete(raw):
    assert codes(look(story=raw)) == ["story-file-incomplete"]


def test_ticking_boxes_is_no_work():
    assert codes(look(differs_from_baseline=False)) == ["no-change"]


def test_a_reviser_who_changes_nothing_is_fine():
    assert codes(look(required_output=StepOutput.REVISION, changed_in_attempt=False)) == []


@pytest.mark.parametrize("owes", [StepOutput.REVISION, StepOutput.VERDICT])
def test_undoing_the_work_is_foul_and_none_at_all_is_lacking(owes):
    found = judge_work(look(required_output=owes, differs_from_baseline=False))
    assert [(one.code, one.kind) for one in found] == [("emptied", ObjectionKind.VIOLATION)]
    assert codes(look(required_output=owes, differs_from_baseline=False, changed_in_attempt=False)) == [
        "no-change"
    ]


def test_a_story_may_be_written_without_touching_code():
    assert (
        codes(look(required_output=StepOutput.STORY, differs_from_baseline=False, changed_in_attempt=False)) == []
    )


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
    assert [(one.code, one.kind) for one in found] == [("tasks-open", ObjectionKind.MISSING_OUTPUT)]


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


@pytest.mark.parametrize("owes", [StepOutput.REVISION, StepOutput.VERDICT, StepOutput.STORY])
def test_only_a_developer_is_asked_for_ticked_tasks(owes):
    assert codes(look(required_output=owes, story=STORY.replace("[x]", "[ ]"))) == []


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


@given(raw=st.binary(max_size=400), before=st.binary(max_size=400), owes=st.sampled_from(StepOutput))
def test_no_bytes_in_a_story_file_break_the_judge(raw, before, owes):
    document = Document(STORY_PATH, raw)
    judge_work(look(required_output=owes, story=raw)._replace(story_before=Document(STORY_PATH, before)))
    judge_work(look(required_output=owes, story=None, spec=document))


# The judge as a whole: what it must bear, and how fast.

ENDLESS = [
    "a",
    " ",
    "\n",
    "\t",
    "(",
    '"',
    "/*",
    "@Test ",
    "[Fact]",
    "#[test]",
    "def test_a(",
    "=begin\n",
    ": ",
    "0",
    "a: b\n",
]
SUFFIXES = ["py", "js", "go", "rs", "java", "rb", "php", "cs", "exs", "swift", "dart", "cpp", "feature"]


@pytest.mark.parametrize("piece", ENDLESS)
def test_no_text_holds_the_judge_up(piece):
    text = piece * (20_000 // len(piece))
    paths = [*(f"tests/test_a.{suffix}" for suffix in SUFFIXES), "package.json", "Makefile", "pyproject.toml"]
    before = dict.fromkeys(paths, text)
    after = dict.fromkeys(paths, f"{text} ")
    began = time.monotonic()
    judge_work(
        look(before, after, story=text, story_before=text, story_text=text, check_commands=("make a", "npm test"))
    )
    classify_failure(1, text)
    assert time.monotonic() - began < 20


def test_several_objections_are_told_together():
    before = {"tests/test_a.py": "def test_a():\n    assert f() == 1\n"}
    found = codes(look(before, {".mcp.json": "{}"}, story=STORY.replace("[x]", "[ ]"), is_same_branch=False))
    assert found == ["tasks-open", "wrong-branch", "protected-path", "test-deleted"]


@pytest.mark.parametrize("owes", StepOutput)
def test_a_claim_on_the_board_is_no_objection(owes):
    rows = {"1-2-sign-in": "ready-for-dev"}
    assert codes(look(required_output=owes, rows_before=rows, rows_after={"1-2-sign-in": "done"})) == []


@pytest.mark.parametrize("owes", [StepOutput.VERDICT, StepOutput.REVISION, StepOutput.NOTHING, StepOutput.STORY])
def test_whoever_the_agent_is_tests_are_left_alone(owes):
    before = {"tests/test_a.py": "def test_a():\n    assert f() == 1\n"}
    assert codes(look(before, {}, required_output=owes)) == ["test-deleted"]


def test_a_reviewer_may_mend_what_he_finds():
    before = {"src/a.py": "x = 1\n", "tests/test_a.py": "def test_a():\n    assert f() == 1\n"}
    after = {"src/a.py": "x = 2\n", "tests/test_a.py": "def test_a():\n    assert f() == 2\n"}
    assert codes(look(before, after, required_output=StepOutput.VERDICT)) == []


# Tests tampered with, places, rows and what is owed: the cases beside the usual ones.


def cases(*names: str, body: str = "    assert {} == 1\n") -> str:
    return "\n\n".join(f"def test_{name}():\n{body.format(name)}" for name in names)


def gutted(before: str, after: str) -> list[str]:
    return codes(look({"tests/test_a.py": before}, {"tests/test_a.py": after}))


def test_a_few_of_many_may_go_with_a_file_that_is_moved():
    names = ["alpha", "beta", "gamma", "delta", "epsilon"]
    kept = {"tests/test_b.py": cases(*names[1:])}
    assert codes(look({"tests/test_a.py": cases(*names)}, kept)) == []
    kept = {"tests/test_b.py": cases(*names[2:])}
    assert codes(look({"tests/test_a.py": cases(*names)}, kept)) == ["test-deleted"]


def test_the_cases_that_are_gone_are_named():
    found = judge_work(look({"tests/test_a.py": cases("one", "two", "three")}, {"tests/test_a.py": cases("two")}))
    assert "2 of 3 test cases are gone (`test_one`, `test_three`)" in found[0].message
    found = judge_work(look({"tests/test_a.py": cases("one")}, {}))
    assert "`tests/test_a.py` with `test_one` is gone" in found[0].message


def test_two_cases_of_one_name_are_two():
    twice = cases("one", "one")
    assert gutted(twice, twice + "\n# more\n") == []
    assert gutted(twice, cases("one")) == ["test-gutted"]


def test_each_new_case_makes_up_for_one():
    body = "    result = cart.total([1, 2])\n    assert result == 3\n"
    assert gutted(cases("a", "b", body=body), cases("a", "a", body=body)) == []
    assert gutted(cases("a", "a", "b", body=body), cases("a", "a", body=body)) == ["test-gutted"]


def test_rows_that_were_there_make_up_for_no_case():
    table = "@pytest.mark.parametrize('n', [\n    (1,),\n    (2,),\n])\ndef test_t(n):\n    assert t(n)\n\n\n"
    assert gutted(table + cases("a", "b"), table + cases("a")) == ["test-gutted"]


def test_a_case_is_known_again_by_its_words():
    before = "def test_a():\n    one = two(three)\n    assert one == 4\n"
    assert gutted(before, before.replace("test_a", "test_b")) == []
    assert gutted(before, "def test_b():\n    five = six(seven)\n    assert five == 8\n") == ["test-gutted"]


def test_a_skipped_or_empty_case_makes_up_for_none():
    before = "def test_a():\n    one = two(three)\n    assert one == 4\n"
    skipped = "@pytest.mark.skip\n" + before.replace("test_a", "test_b")
    assert gutted(before, skipped) == ["test-gutted"]
    assert gutted(before, before.replace("test_a", "test_b").replace("assert", "print")) == ["test-gutted"]
    assert gutted("@pytest.mark.skip\n" + before, skipped) == []


def test_a_case_without_any_word_is_known_by_its_name_alone():
    before, after = ({"a.test.js": f"it('{name}', () => {{}});\n"} for name in "ab")
    assert codes(look(before, after)) == ["test-gutted"]


def test_a_new_file_may_be_switched_off():
    new = {"src/a.test.js": "xdescribe('a', () => { it('b', () => { expect(f()) }) });\n"}
    assert codes(look({}, new)) == []


def test_files_that_are_no_tests_hide_none_that_is():
    code, tests = "fn a() {}\n", "#[test]\nfn a() {\n    assert!(f());\n}\n"
    assert codes(look({"src/a.rs": code, "src/b.rs": tests}, {"src/a.rs": f"{code} ", "src/b.rs": code})) == [
        "test-gutted"
    ]


def test_a_test_that_is_moved_away_does_not_hide_behind_many_files(monkeypatch):
    monkeypatch.setattr("bmad_autopilot.gates.tampering.MAX_FILES", 3)
    many = {f"a/{number}.txt": "x" for number in range(5)}
    work = look({"tests/test_a.py": cases("one")}, many | {"old.txt": "x"}, renamed={"old.txt": "tests/test_a.py"})
    assert codes(work) == ["test-deleted"]


def test_half_of_the_checks_may_go():
    before = "def test_a():\n" + "".join(f"    assert f({n})\n" for n in range(6))
    assert gutted(before, "def test_a():\n" + "".join(f"    assert f({n})\n" for n in range(3))) == []
    assert gutted(before, "def test_a():\n    assert f(0)\n    assert f(1)\n") == ["test-gutted"]
    found = judge_work(look({"tests/test_a.py": before}, {"tests/test_a.py": "def test_a():\n    assert f(0)\n"}))
    assert "of 6 checks 1 are left" in found[0].message


def test_checks_may_become_rows():
    before = "def test_a():\n" + "".join(f"    assert f({n})\n" for n in range(6))
    rows = "@pytest.mark.parametrize('n', [\n    (1,),\n    (2,),\n])\n"
    assert gutted(before, f"{rows}def test_a(n):\n    assert f(n)\n") == []


def test_a_case_that_never_checked_may_go_on_so():
    before = cases("a", body="    run()\n") + "\n\n" + cases("b")
    assert gutted(before, before + "\n# more\n") == []
    assert gutted(before, before.replace("assert b", "print(b)")) == ["test-gutted"]


def test_only_one_more_skip_counts():
    before = "@pytest.mark.skip\n" + cases("a") + "\n\n" + cases("b")
    assert gutted(before, before + "\n\n" + cases("c")) == []
    assert gutted(before, before.replace("def test_b", "@pytest.mark.skip\ndef test_b")) == ["test-gutted"]


def test_a_file_without_cases_and_checks_may_change():
    assert gutted("x = 1\n", "y = 2\n") == []
    assert gutted("x = 1\n", "it.only\n") == []


def test_a_test_in_an_unknown_language_may_be_empty_from_the_start():
    path = "src/cart.test.zig"
    assert codes(look({path: ""}, {path: " "})) == []
    work = look({path: "x"}, {path: "y"})
    assert codes(work._replace(contents=lambda name, now: b"x" if not now else None)) == []


def test_tests_turned_into_another_language_are_read_as_that():
    before = {"tests/test_a.py": cases("one")}
    renamed = {"tests/one.zig": "tests/test_a.py"}
    assert codes(look(before, {"tests/one.zig": "x"}, renamed=renamed)) == ["test-deleted"]


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("a/b", "/a/b", True),
        ("a/b/c", "a/**", True),
        ("a/b/c", "a**c", True),
        ("ab", "a**c", False),
        ("a\nb/c", "a*/c", True),
        ("a/b\nc", "a", True),
        ("x", "**/x", True),
    ],
)
def test_further_globs(path, glob, expected):
    assert matches_glob(path, [glob]) is expected


@pytest.mark.parametrize(
    ("path", "target", "fine"),
    [
        ("a", "b//c", True),
        ("a", "./././b", True),
        ("d/a", ".././b", True),
        ("d/a", "..//b", True),
        ("d/a", "../..", False),
        ("d/a", "b/../c", False),
        ("d/e/a", ".././../b", True),
        ("d/e/a", "..//../b", True),
        ("d/a", "..\\..\\x", False),
        ("a", "b/..", False),
        ("a", "x" * 4096, True),
        ("a", "x" * 4097, False),
        ("a", "c:d", False),
        ("a", ".gitx/b", True),
    ],
)
def test_further_links(path, target, fine):
    assert codes(look({}, {path: Link(target)})) == ([] if fine else ["link-outside"])


def test_a_link_may_lead_to_a_name_that_is_no_text():
    work = look(more=(FileChange("a", ChangeKind.ADDED, mode="120000"),))
    assert codes(work._replace(contents=lambda path, after: b"\xff")) == []


def test_paths_below_a_repositorys_own_folder_are_refused():
    change = FileChange("vendor/.GIT/config", ChangeKind.ADDED, mode="100644")
    assert codes(look(more=(change,))) == ["nested-repository"]


def test_what_is_misplaced_is_named():
    found = judge_work(look({}, {"a": Link("/etc"), "b.agent-state.json": "{}"}))
    assert [one.message.partition(" ")[0] for one in found] == ["`a`", "`b.agent-state.json`"]
    found = judge_work(look(more=(FileChange("vendor/x", ChangeKind.ADDED, mode="160000"),)))
    assert found[0].message.startswith("`vendor/x` is a git repository")


def test_a_state_file_that_was_moved_into_git_is_new():
    work = look({"a.json": "{}"}, {"a.review.json": "{}"}, renamed={"a.review.json": "a.json"})
    assert codes(work) == ["state-file-tracked"]


def test_the_old_configuration_may_be_in_git():
    assert "state-file-tracked" not in codes(look({}, {".autopilot/config": "x"}))


def rows(before: dict[str, str], after: dict[str, str], key: str = "1-2-sign-in") -> list[str]:
    return codes(look(rows_before=before, rows_after=after, key=key))


def test_an_epic_may_be_closed_by_its_last_story_only():
    before = {"epic-1": "in-progress", "1-1-a": "done", "1-2-sign-in": "review", "epic-2": "in-progress"}
    assert rows(before, {**before, "1-2-sign-in": "done", "epic-1": "done"}) == []
    assert rows(before, {**before, "epic-1": "done"}) == ["other-row"]
    assert rows(before, {**before, "1-2-sign-in": "done", "epic-2": "done"}) == ["other-row"]
    left = {"1-1-a": "done", "1-2-sign-in": "done", "epic-2": "in-progress"}
    closed = {**before, "epic-1": "done", "1-2-sign-in": "done"}
    assert rows(closed, left) == ["other-row"]


def test_an_epics_own_words_are_read_as_an_epics():
    before = {"epic-1": "in-progress", "1-2-sign-in": "review"}
    assert rows(before, {**before, "epic-1": "optional"}) == []


def test_rows_that_are_named_are_those_that_jumped():
    before = {"1-1-a": "backlog", "1-2-sign-in": "review", "1-3-b": "backlog"}
    work = look(rows_before=before, rows_after={**before, "1-1-a": "in-progress", "1-3-b": "done"})
    message = judge_work(work)[0].message
    assert "`1-3-b`" in message
    assert "1-1-a" not in message


def tasks(*lines: str) -> list[str]:
    text = "# Story 1.2: x\n\nStatus: review\n\n## Tasks\n\n" + "".join(f"{line}\n" for line in lines)
    return open_tasks(read_story(TextFile(STORY_PATH, text.encode())).tasks)


def test_tasks_below_others():
    assert tasks("- [ ] a", "  - [x] b", "  - [ ] c", "- [x] d", "  - [ ] e") == ["a", "c"]
    assert tasks("- [ ] a", "  - [x] b", "- [ ] c", "  - [x] d") == []
    assert tasks("- [ ] later: a", "  - [ ] b", "- [ ] c") == ["c"]
    assert tasks("- [ ] a", "- [x] b") == ["a"]
    assert tasks("- [ ] a", "  - [x] b", "- [x] c", "  - [ ] d") == []


def test_a_story_that_was_no_text_before_is_not_compared():
    work = look()._replace(story_before=Document(STORY_PATH, b"\xff\xfe\x00"))
    assert codes(work) == []


def test_a_ticked_task_may_be_dropped_and_others_come_instead():
    after = STORY.replace("- [x] Task 2: the message (AC: 2)\n", "")
    assert codes(look(story=after, story_before=STORY)) == []
    instead = STORY.replace("Task 2: the message (AC: 2)", "Task 2: something else")
    assert codes(look(story=instead, story_before=STORY.replace("[x]", "[ ]"))) == []


def test_what_was_cut_is_told():
    after = STORY.replace("2. Anyone else is told why not\n", "")
    found = judge_work(look(story=after, story_before=STORY))
    assert "had 2 acceptance criteria and has 1 now" in found[0].message
    more = STORY.replace("2. Anyone", "2. Somebody\n3. Anyone")
    assert codes(look(story=more, story_before=STORY)) == []


def test_a_build_has_a_status_and_says_why_it_is_blocked():
    bare = Document(STORY_PATH, b"---\ntitle: x\n---\n\n# Spec\n")
    assert "has no status" in judge_work(look(story=None, spec=bare))[0].message
    assert judge_work(look(story=None, spec=spec("blocked")))[0].message.endswith(
        "says that the build is blocked."
    )
    raw = Document(STORY_PATH, b"\xff\xfe\x00")
    assert codes(look(story=None, spec=raw)) == ["story-file-incomplete"]


def test_only_the_build_itself_must_end():
    assert codes(look(story=None, spec=spec("in-progress"), is_build_step=False)) == []
    assert codes(look(story=None, spec=spec("in-progress"), required_output=StepOutput.VERDICT)) == []
    assert codes(look(story=None, spec=spec("blocked"), required_output=StepOutput.VERDICT)) == [
        "story-file-incomplete"
    ]
    assert codes(look(spec=spec("in-progress"))) == ["story-file-incomplete"]


def test_all_that_a_story_lacks_is_told():
    found = judge_work(look(required_output=StepOutput.STORY, story="# Story 1.2\n"))
    assert found[0].message.endswith("has no status and no acceptance criteria and no tasks.")


def test_no_task_at_all_or_some_are_told_apart():
    none = judge_work(look(story=STORY.replace("[x]", "[ ]")))
    assert none[0].message.startswith("No task in")
    some = judge_work(look(story=STORY.replace("- [x] Task 2", "- [ ] Task 2")))
    assert "has tasks that are not ticked" in some[0].message


def test_a_path_outside_the_project_is_itself():
    work = look(project_folder="app")
    assert work.in_project("app/a") == "a"
    assert work.in_project("other/a") == "other/a"
    assert look().in_project("app/a") == "app/a"
    assert Evidence(StepOutput.CODE, "1-2", "1.2", (), work.contents, True, True).project_folder == "."
    usual = work._replace(project_folder=".")
    assert (usual.descends_from_baseline, usual.is_same_branch, usual.is_build_step, usual.story_text) == (
        True,
        True,
        True,
        "",
    )
    assert (usual.changed_outside, usual.check_commands, usual.allowed_globs, usual.rows_after) == (
        (),
        (),
        (),
        None,
    )
