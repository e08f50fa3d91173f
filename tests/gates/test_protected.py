"""What steers checks, hooks and agents is left alone, unless the story or the policy says otherwise."""

import pytest

from bmad_autopilot.gates.protected import is_protected
from bmad_autopilot.gates.work import judge_work
from tests.gates.looks import codes, look

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
    work = look({}, {".github/workflows/ci.yml": "a\n"}, allowed=(".github/workflows/*.yml",))
    assert codes(work) == []
    assert codes(look({}, {".github/CODEOWNERS": "a\n"}, allowed=(".github/workflows/**",))) == ["protected-path"]


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
    assert codes(look({}, {".github/workflows/ci.yml": "a\n"}, asked=asked)) == []


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
    assert codes(look({}, {".github/workflows/ci.yml": "a\n"}, asked=asked)) == ["protected-path"]


def test_an_agent_cannot_ask_for_it_in_the_story_file_itself():
    story = look().story
    assert story is not None
    text = story.raw.decode() + "- [x] Change `.mcp.json`\n"
    assert codes(look({}, {".mcp.json": "{}"}, story=text)) == ["protected-path"]


def test_a_project_below_the_top_is_protected_there_and_at_the_top():
    assert codes(look({}, {"app/_bmad/x.md": "a\n"}, part="app")) == ["protected-path"]
    assert codes(look({}, {".github/x.yml": "a\n"}, part="app")) == ["protected-path"]
    assert codes(look({}, {"app/_bmad/x.md": "a\n"})) == []


def test_our_own_records_are_nobody_elses():
    path = "_bmad-output/notes/run.json"
    work = look({path: "1"}, {path: "2"}, bookkeeping=frozenset({path}), allowed=("**",))
    assert codes(work) == ["bookkeeping"]


@pytest.mark.parametrize(
    "name", [".git/info/exclude", ".git/info/attributes", ".git/hooks/pre-push", ".git/config:core.hookspath"]
)
def test_what_lies_in_git_itself_is_not_the_agents_to_change(name):
    found = judge_work(look(settings=(name,)))
    assert [one.code for one in found] == ["git-settings"]
    assert name in found[0].message


def test_the_policy_or_the_story_may_open_that_too():
    hook, config = ".git/hooks/pre-push", ".git/config:filter.lfs.clean"
    assert codes(look(settings=(hook, config), allowed=(".git/hooks/", ".git/config"))) == []
    assert codes(look(settings=(hook, config), allowed=(".git/hooks/**",))) == ["git-settings"]
    asked = "## Tasks\n\n- [ ] Install the git hooks\n"
    assert codes(look(settings=(hook,), asked=asked)) == []
    assert codes(look(settings=(config,), asked=asked)) == ["git-settings"]
