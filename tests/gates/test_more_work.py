"""Tests tampered with, places, rows and what is owed: the cases beside the usual ones."""

import pytest

from bmad_autopilot.board.stories import read_story
from bmad_autopilot.core.changes import Change, Kind
from bmad_autopilot.core.owes import Owes
from bmad_autopilot.files import Text
from bmad_autopilot.gates.globs import matches
from bmad_autopilot.gates.look import Document, WorkLook
from bmad_autopilot.gates.owed import open_tasks
from bmad_autopilot.gates.work import judge_work
from tests.gates.looks import STORY, STORY_PATH, Link, codes, look
from tests.gates.test_owed import spec


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
    assert matches(path, [glob]) is expected


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
    work = look(more=(Change("a", Kind.ADDED, mode="120000"),))
    assert codes(work._replace(contents=lambda path, after: b"\xff")) == []


def test_paths_below_a_repositorys_own_folder_are_refused():
    change = Change("vendor/.GIT/config", Kind.ADDED, mode="100644")
    assert codes(look(more=(change,))) == ["nested-repository"]


def test_what_is_misplaced_is_named():
    found = judge_work(look({}, {"a": Link("/etc"), "b.agent-state.json": "{}"}))
    assert [one.message.partition(" ")[0] for one in found] == ["`a`", "`b.agent-state.json`"]
    found = judge_work(look(more=(Change("vendor/x", Kind.ADDED, mode="160000"),)))
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
    return open_tasks(read_story(Text(STORY_PATH, text.encode())).tasks)


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
    assert codes(look(story=None, spec=spec("in-progress"), builds=False)) == []
    assert codes(look(story=None, spec=spec("in-progress"), owes=Owes.VERDICT)) == []
    assert codes(look(story=None, spec=spec("blocked"), owes=Owes.VERDICT)) == ["story-file-incomplete"]
    assert codes(look(spec=spec("in-progress"))) == ["story-file-incomplete"]


def test_all_that_a_story_lacks_is_told():
    found = judge_work(look(owes=Owes.STORY, story="# Story 1.2\n"))
    assert found[0].message.endswith("has no status and no acceptance criteria and no tasks.")


def test_no_task_at_all_or_some_are_told_apart():
    none = judge_work(look(story=STORY.replace("[x]", "[ ]")))
    assert none[0].message.startswith("No task in")
    some = judge_work(look(story=STORY.replace("- [x] Task 2", "- [ ] Task 2")))
    assert "has tasks that are not ticked" in some[0].message


def test_a_path_outside_the_project_is_itself():
    work = look(part="app")
    assert work.in_project("app/a") == "a"
    assert work.in_project("other/a") == "other/a"
    assert look().in_project("app/a") == "app/a"
    assert WorkLook(Owes.CODE, "1-2", "1.2", (), work.contents, True, True).part == "."
    usual = work._replace(part=".")
    assert (usual.descends, usual.same_branch, usual.builds, usual.asked) == (True, True, True, "")
    assert (usual.outside, usual.commands, usual.allowed, usual.rows_after) == ((), (), (), None)
