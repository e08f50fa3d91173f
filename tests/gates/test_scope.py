"""Rows of the board: an agent's own is a claim, another's is not its to move."""

import pytest

from bmad_autopilot.core.changes import ChangeKind, FileChange
from bmad_autopilot.core.step_output import StepOutput
from bmad_autopilot.gates.evidence import ObjectionKind as Weight
from bmad_autopilot.gates.judge import judge_work
from bmad_autopilot.gates.scope import (
    MovedRow,
    claims_completion,
    is_protected,
    moved_rows,
    moved_rows_of_other_epics,
    restored_status,
    with_restored_rows,
)
from tests.gates.evidence_builder import Link, codes, look

ROWS = {
    "epic-1": "in-progress",
    "1-1-sign-up": "done",
    "1-2-sign-in": "in-progress",
    "1-3-sign-out": "ready-for-dev",
}


def judged(**after: str | None) -> list[str]:
    rows = {**ROWS, **{key.replace("_", "-"): value for key, value in after.items()}}
    return codes(look(rows_before=ROWS, rows_after={k: v for k, v in rows.items() if v is not None}))


@pytest.mark.parametrize(
    "after",
    [
        {"1-3-sign-out": "done"},
        {"1-3-sign-out": "review"},
        {"1-3-sign-out": "Completed"},
        {"1-1-sign-up": "in-progress"},
        {"1-1-sign-up": None},
        {"1-4-new": "done"},
        {"1-1-sign-up": None, "1-1-signing-up": "in-progress"},
        {"epic-1": "done"},
        {"epic-1-retrospective": "done"},
    ],
)
def test_another_row_must_not_go_into_or_out_of_review_or_done(after):
    assert judged(**after) == ["other-row"]


@pytest.mark.parametrize(
    "after",
    [
        {},
        {"1-2-sign-in": "done"},
        {"1-2-sign-in": "nonsense"},
        {"1-2-sign-in": None},
        {"1-2-sign-in": None, "1-2-signing-in": "done"},
        {"1-3-sign-out": "in-progress"},
        {"1-1-sign-up": "Done"},
        {"1-4-new": "backlog"},
        {"1-4-new": "drafted"},
        {"1-1-sign-up": None, "1-1-signing-up": "done"},
        {"1-3-sign-out": None, "1-3-signing-out": "backlog"},
        {"epic-2": "in-progress"},
        {"epic-1": "backlog"},
        {"epic-1-retrospective": "optional"},
    ],
)
def test_its_own_row_and_harmless_moves_are_fine(after):
    assert judged(**after) == []


@pytest.mark.parametrize(
    "after",
    [
        {"1-3-sign-out": None},
        {"epic-1": None},
        {"1-2-sign-in": "done", "1-3-sign-out": None, "epic-1": "done"},
        {"1-3-sign-out": None, "1-4-sign-out": "ready-for-dev"},
    ],
)
def test_another_row_must_not_be_gone(after):
    assert judged(**after) == ["other-row"]


@pytest.mark.parametrize("status", ["in-progress", "review", "blocked", "nonsense"])
def test_a_new_story_is_one_that_nobody_has_begun(status):
    assert judged(**{"1-4-new": status}) == ["other-row"]


def test_a_story_may_ask_for_another_to_go():
    gone = {key: status for key, status in ROWS.items() if key != "1-3-sign-out"}
    for asked, found in (
        ("Remove `1-3-sign-out` from the board: it is part of this one", []),
        ("Merge 1-3-Sign-Out into this story", []),
        ("Do not remove 1-3-sign-out", ["other-row"]),
        ("Make ready for 1-3-sign-out", ["other-row"]),
        ("Remove 1-3-sign-out-later", ["other-row"]),
    ):
        work = look(rows_before=ROWS, rows_after=gone, story_text=f"## Tasks\n\n- [ ] {asked}\n")
        assert codes(work) == found


def test_a_row_without_a_status_that_stays_as_it_is_has_not_moved():
    before = {**ROWS, "1-5-odd": ""}
    assert codes(look(rows_before=before, rows_after={**before, "1-3-sign-out": "in-progress"})) == []


def test_what_happened_to_rows_is_told_apart():
    after = {"epic-1": "in-progress", "1-1-sign-up": "in-progress", "1-2-sign-in": "done", "1-4-new": "done"}
    found = judge_work(look(rows_before=ROWS, rows_after=after))
    assert [one.message for one in found] == [
        "On the board `1-1-sign-up` went into or out of review or done; `1-3-sign-out` is gone; `1-4-new` is new "
        "and already begun. Only 1-2-sign-in may change."
    ]


@pytest.mark.parametrize(
    ("row", "claims"),
    [
        (MovedRow("1-1-x", "in-progress", "review"), True),
        (MovedRow("1-1-x", "in-progress", "Completed"), True),
        (MovedRow("epic-1", "in-progress", "done"), True),
        (MovedRow("1-1-x", "done", "in-progress"), False),
        (MovedRow("1-1-x", "review", ""), False),
        (MovedRow("1-1-x", "backlog", "in-progress"), False),
        (MovedRow("1-1-x", "done", "Completed"), False),
    ],
)
def test_a_row_that_went_into_review_or_done_claims_completion(row, claims):
    assert claims_completion(row) is claims


def test_every_row_that_changed_is_listed_for_putting_back():
    after = {"1-1-sign-up": "review", "1-2-sign-in": "done", "1-5-new": "backlog", "1-4-new": "done"}
    moved = moved_rows(look(rows_before=ROWS, rows_after={**after, "epic-1": "in-progress"}))
    assert moved == [
        ("1-1-sign-up", "done", "review"),
        ("1-3-sign-out", "ready-for-dev", ""),
        ("1-4-new", "", "done"),
    ]
    assert moved_rows(look(rows_before=ROWS, rows_after=None)) == []
    assert [restored_status(row.key, row.before) for row in moved] == ["done", "ready-for-dev", "backlog"]
    assert restored_status("epic-1-retrospective", "") == "optional"


def test_a_board_that_cannot_be_read_is_judged_elsewhere():
    assert codes(look(rows_before=ROWS, rows_after=None)) == []


def test_what_strayed_from_its_epic_is_told_and_looks_as_if_it_had_never_been():
    second = {"epic-2": "backlog", "2-1-mail": "backlog", "2-2-post": "done", "epic-2-retrospective": "optional"}
    before = {**ROWS, **second}
    after = {
        **before,
        "1-2-sign-in": "review",
        "1-3-sign-out": "in-progress",  # its own epic's: for others to judge
        "epic-2": "in-progress",
        "2-1-mail": "in-progress",
        "2-3-new": "backlog",  # planned, and not begun
        "2-4-begun": "review",
        "epic-2-retrospective": "done",
    }
    del after["2-2-post"]
    seen = look(rows_before=before, rows_after=after)
    strayed = moved_rows_of_other_epics(seen, "1")
    assert set(strayed) == {
        MovedRow("epic-2", "backlog", "in-progress"),
        MovedRow("2-1-mail", "backlog", "in-progress"),
        MovedRow("2-2-post", "done", ""),
        MovedRow("2-4-begun", "", "review"),
        MovedRow("epic-2-retrospective", "optional", "done"),
    }
    back = with_restored_rows(seen, strayed)
    assert codes(back) == []
    assert back.rows_after == {
        **before,
        "1-2-sign-in": "review",
        "1-3-sign-out": "in-progress",
        "2-3-new": "backlog",
        "2-4-begun": "backlog",
    }
    assert moved_rows_of_other_epics(back, "1") == []
    assert moved_rows_of_other_epics(look(rows_before=ROWS, rows_after=None), "1") == []


# What steers checks, hooks and agents is left alone, unless the story or the policy says otherwise.

PROTECTED = [
    *("bmad-autopilot.toml", ".autopilot/config", ".github/workflows/ci.yml", ".github/CODEOWNERS"),
    *(".gitlab-ci.yml", ".circleci/config.yml", "azure-pipelines.yml", "Jenkinsfile", "bitbucket-pipelines.yml"),
    *(".husky/pre-commit", ".githooks/pre-push", ".pre-commit-config.yaml", "lefthook.yml"),
    *(".claude/settings.json", ".claude/settings.local.json", ".claude/hooks/stop.sh", ".mcp.json"),
    *(".codex/config.toml", ".gemini/settings.json", "opencode.json", ".cursor/hooks.json"),
    *(".gitattributes", "docs/.gitattributes", ".gitmodules", ".GitHub/workflows/ci.yml"),
    *(".claude/skills/bmad-dev-story/SKILL.md", "_bmad/bmm/config.yaml", "_bmad/_config/manifest.yaml"),
]
OPEN = [
    *("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "README.md", ".gitignore", "src/github/client.py"),
    *("_bmad/render/x.md", "_bmad/_memory/notes.md", "_bmad-output/planning-artifacts/epics.md"),
    *("docs/.github-notes.md", "packages/a/settings.json", ".claude/skills/ours/SKILL.md", "githooks.md"),
    *("src/.husky.ts", "package.json", "Dockerfile", "docs/_bmad.md"),
]


@pytest.mark.parametrize("path", PROTECTED)
def test_a_protected_path_is_not_the_agents_to_change(path):
    found = judge_work(look({path: "a\n"}, {path: "b\n"}))
    assert [one.code for one in found] == ["protected-path"]
    assert path in found[0].message


@pytest.mark.parametrize("path", PROTECTED)
def test_nor_to_add_or_to_delete(path):
    assert "protected-path" in codes(look({}, {path: "b\n"}))
    assert "protected-path" in codes(look({path: "a\n"}, {}))


@pytest.mark.parametrize("path", OPEN)
def test_other_paths_are_open(path):
    assert not is_protected(path)
    assert codes(look({path: "a\n"}, {path: "b\n"})) == []


def test_moving_a_protected_file_away_counts():
    before, after = {".husky/pre-commit": "x\n"}, {"old-hook": "x\n"}
    assert codes(look(before, after, renamed={"old-hook": ".husky/pre-commit"})) == ["protected-path"]


def test_the_policy_may_open_a_path():
    work = look({}, {".github/workflows/ci.yml": "a\n"}, allowed_globs=(".github/workflows/*.yml",))
    assert codes(work) == []
    assert codes(look({}, {".github/CODEOWNERS": "a\n"}, allowed_globs=(".github/workflows/**",))) == [
        "protected-path"
    ]


@pytest.mark.parametrize(
    "asked",
    [
        "## Tasks\n\n- [ ] Add `.github/workflows/ci.yml`\n",
        "## Acceptance Criteria\n\n1. The workflows in .github/workflows/ run the tests\n",
        "## Acceptance Criteria\n\n1. A GitHub Actions job runs the tests\n",
        "## Tasks / Subtasks\n\n- [ ] Set up the CI pipeline (AC: 1)\n",
        "As a developer, I want continuous integration.\n",
    ],
)
def test_the_story_may_ask_for_it(asked):
    assert codes(look({}, {".github/workflows/ci.yml": "a\n"}, story_text=asked)) == []


@pytest.mark.parametrize(
    "asked",
    [
        "## Tasks\n\n- [ ] The form\n\n## Dev Notes\n\nSee `.github/workflows/ci.yml`.\n",
        "## Tasks\n\n- [ ] Do not touch .github/workflows/ci.yml\n",
        "## Tasks\n\n- [ ] All tests pass in CI\n",
        "## Tasks\n\n- [ ] Add `.github/workflows/ci.yml.md`\n",
        "## Tasks\n\n- [ ] Add `.github/workflows/release.yml`\n",
        "## Tasks\n\n- [ ] Write about .github in the handbook\n",
        "",
    ],
)
def test_a_mention_is_not_asking(asked):
    assert codes(look({}, {".github/workflows/ci.yml": "a\n"}, story_text=asked)) == ["protected-path"]


def test_an_agent_cannot_ask_for_it_in_the_story_file_itself():
    story = look().story
    assert story is not None
    text = story.raw.decode() + "- [x] Change `.mcp.json`\n"
    assert codes(look({}, {".mcp.json": "{}"}, story=text)) == ["protected-path"]


def test_a_project_below_the_top_is_protected_there_and_at_the_top():
    assert codes(look({}, {"app/_bmad/x.md": "a\n"}, project_folder="app")) == ["protected-path"]
    assert codes(look({}, {".github/x.yml": "a\n"}, project_folder="app")) == ["protected-path"]
    assert codes(look({}, {"app/_bmad/x.md": "a\n"})) == []


def test_our_own_records_are_nobody_elses():
    path = "_bmad-output/notes/run.json"
    work = look({path: "1"}, {path: "2"}, bookkeeping=frozenset({path}), allowed_globs=("**",))
    assert codes(work) == ["bookkeeping"]


@pytest.mark.parametrize(
    "name", [".git/info/exclude", ".git/info/attributes", ".git/hooks/pre-push", ".git/config:core.hookspath"]
)
def test_what_lies_in_git_itself_is_not_the_agents_to_change(name):
    found = judge_work(look(changed_git_settings=(name,)))
    assert [one.code for one in found] == ["git-settings"]
    assert name in found[0].message


def test_the_policy_or_the_story_may_open_that_too():
    hook, config = ".git/hooks/pre-push", ".git/config:filter.lfs.clean"
    assert codes(look(changed_git_settings=(hook, config), allowed_globs=(".git/hooks/", ".git/config"))) == []
    assert codes(look(changed_git_settings=(hook, config), allowed_globs=(".git/hooks/**",))) == ["git-settings"]
    asked = "## Tasks\n\n- [ ] Install the git hooks\n"
    assert codes(look(changed_git_settings=(hook,), story_text=asked)) == []
    assert codes(look(changed_git_settings=(config,), story_text=asked)) == ["git-settings"]


# Branch, history, links and nested repositories.


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"is_same_branch": False}, "wrong-branch"),
        ({"descends_from_baseline": False}, "history-rewritten"),
        ({"changed_outside": ("other/readme.md",)}, "outside-worktree"),
        ({"users_files": ("my notes.txt",)}, "users-files-committed"),
        ({"replaced_files": (("src", "a link"),)}, "file-replaced"),
    ],
)
@pytest.mark.parametrize("owes", StepOutput)
def test_whoever_leaves_his_place_fouls(owes, wrong, code):
    found = judge_work(look(required_output=owes, **wrong))
    assert [(one.code, one.kind) for one in found] == [(code, Weight.VIOLATION)]


def test_replaced_files_are_named():
    message = judge_work(look(replaced_files=(("src", "a link"),)))[0].message
    assert message.startswith("Files were replaced by something else: `src` was a link. They were put back")


def test_paths_outside_are_named():
    assert "other/readme.md" in judge_work(look(changed_outside=("other/readme.md",)))[0].message


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
    gone = FileChange("a", ChangeKind.ADDED, mode="120000")
    assert codes(look(more=(gone,))) == ["link-outside"]


@pytest.mark.parametrize("kind", [ChangeKind.ADDED, ChangeKind.MODIFIED, ChangeKind.TYPE_CHANGED])
def test_a_repository_inside_this_one_is_refused(kind):
    assert codes(look(more=(FileChange("vendor/x", kind, mode="160000"),))) == ["nested-repository"]


def test_a_submodule_the_story_or_the_policy_names_is_fine():
    change = FileChange("vendor/x", ChangeKind.MODIFIED, mode="160000")
    assert codes(look(more=(change,), allowed_globs=("vendor/*",))) == []
    assert codes(look(more=(change,), story_text="## Tasks\n\n- [ ] Take the new `vendor/x`\n")) == []


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
    assert codes(look({}, files, project_folder="app")) == ["state-file-tracked"]
    assert codes(look({}, {"src/review.json": "{}"})) == []


CI = """
    .github/a .gitlab-ci.yml .gitlab/a .circleci/a .travis.yml azure-pipelines.yml azure-pipelines-2.yml
    .azure-pipelines/a .azuredevops/a Jenkinsfile Jenkinsfile.nightly bitbucket-pipelines.yml .drone.yml
    .buildkite/a appveyor.yml .appveyor.yml .woodpecker.yml .woodpecker/a .teamcity/a cloudbuild.yaml
    .semaphore/a .forgejo/a .gitea/a .cirrus.yml
"""


HOOKS = """
    .husky/a .githooks/a .hooks/a .pre-commit-config.yaml .pre-commit-config.yml lefthook.yml lefthook.yaml
    .lefthook.yml lefthook.toml lefthook-local.yml .lefthook/a .overcommit.yml .pre-commit-hooks.yaml
"""


AGENTS = """
    .claude/settings.json .claude/hooks/a .claude/commands/a .claude/agents/a .claude/plugins/a
    .claude/skills/bmad-x/a .agents/skills/bmad-x/a .mcp.json .codex/a .gemini/settings.json .gemini/hooks/a
    .gemini/commands/a .gemini/extensions/a opencode.json opencode.jsonc .opencode/a .cursor/a .vscode/mcp.json
    .copilot/a .windsurf/a .aider.conf.yml .amazonq/a
"""


OTHERS = """
    bmad-autopilot.toml .autopilot/config a/.gitattributes .gitmodules .gitconfig .lfsconfig _bmad/a .bmad/a
    .bmad-core/a
"""


WRITTEN_BY_SKILLS = (
    "_bmad/render/a _bmad/_memory/a .bmad/_memory/a _bmad/bmm/agents/dev-sidecar/a .vscode/settings.json"
)


@pytest.mark.parametrize("path", f"{CI} {HOOKS} {AGENTS} {OTHERS}".split())
def test_what_steers_checks_hooks_or_agents_is_protected(path):
    assert is_protected(path)


@pytest.mark.parametrize("path", WRITTEN_BY_SKILLS.split())
def test_what_bmads_own_skills_write_is_open(path):
    assert not is_protected(path)
