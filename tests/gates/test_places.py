"""Branch, history, links and nested repositories."""

import pytest

from bmad_autopilot.core.changes import Change, Kind
from bmad_autopilot.core.owes import Owes
from bmad_autopilot.gates.objections import Kind as Weight
from bmad_autopilot.gates.work import judge_work
from tests.gates.looks import Link, codes, look


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"same_branch": False}, "wrong-branch"),
        ({"descends": False}, "history-rewritten"),
        ({"outside": ("other/readme.md",)}, "outside-worktree"),
        ({"users_files": ("my notes.txt",)}, "users-files-committed"),
    ],
)
@pytest.mark.parametrize("owes", Owes)
def test_whoever_leaves_his_place_fouls(owes, wrong, code):
    found = judge_work(look(owes=owes, **wrong))
    assert [(one.code, one.kind) for one in found] == [(code, Weight.FOUL)]


def test_paths_outside_are_named():
    assert "other/readme.md" in judge_work(look(outside=("other/readme.md",)))[0].message


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("a", "/etc/passwd"),
        ("a", "../secret"),
        ("deep/a", "../../secret"),
        ("deep/a", "../../x"),
        ("a", "b/../../x"),
        ("deep/a", "other/../.."),
        ("a", ".git/config"),
        ("deep/a", "../.git/hooks"),
        ("a", "C:/Users"),
        ("a", "..\\secret"),
        ("a", "x" * 5000),
    ],
)
def test_a_link_that_leads_out_is_refused(path, target):
    assert codes(look({}, {path: Link(target)})) == ["link-outside"]


@pytest.mark.parametrize(
    ("path", "target"), [("a", "b"), ("deep/a", "../b"), ("a", "./b/c"), ("d/e/a", "../../b/c")]
)
def test_a_link_that_stays_inside_is_fine(path, target):
    assert codes(look({}, {path: Link(target)})) == []


def test_a_link_nobody_can_read_is_refused():
    gone = Change("a", Kind.ADDED, mode="120000")
    assert codes(look(more=(gone,))) == ["link-outside"]


@pytest.mark.parametrize("kind", [Kind.ADDED, Kind.MODIFIED, Kind.RETYPED])
def test_a_repository_inside_this_one_is_refused(kind):
    assert codes(look(more=(Change("vendor/x", kind, mode="160000"),))) == ["nested-repository"]


def test_a_submodule_the_story_or_the_policy_names_is_fine():
    change = Change("vendor/x", Kind.MODIFIED, mode="160000")
    assert codes(look(more=(change,), allowed=("vendor/*",))) == []
    assert codes(look(more=(change,), asked="## Tasks\n\n- [ ] Take the new `vendor/x`\n")) == []


@pytest.mark.parametrize(
    "path",
    [
        "_bmad-output/x/1-2-sign-in.review.json",
        "a.agent-state.json",
        "x/.run-epic-state.json",
        ".autopilot/state.json",
    ],
)
def test_state_of_a_run_must_not_get_into_git(path):
    assert codes(look({}, {path: "{}"})) == ["state-file-tracked"]


def test_state_files_a_project_has_committed_may_change():
    assert codes(look({"a.review.json": "{}"}, {"a.review.json": '{"x": 1}'})) == []


def test_state_is_known_below_the_projects_folder_too():
    files = {"app/_bmad-output/.runs/x.json": "{}"}
    assert codes(look({}, files, part="app")) == ["state-file-tracked"]
    assert codes(look({}, {"src/review.json": "{}"})) == []
