"""The lists that rules go by: for every entry a path or a word that only this entry knows."""

import pytest

from bmad_autopilot.core.block_reasons import BlockReason
from bmad_autopilot.core.changes import Change, Kind
from bmad_autopilot.gates.asked import names_path
from bmad_autopilot.gates.failures import FailureKind
from bmad_autopilot.gates.protected import is_protected
from bmad_autopilot.gates.settings import is_settings
from bmad_autopilot.gates.suites import is_test_path, read_suite
from bmad_autopilot.gates.verdict import Result, read_verdict

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
OPEN = "_bmad/render/a _bmad/_memory/a .bmad/_memory/a _bmad/bmm/agents/dev-sidecar/a .vscode/settings.json"


@pytest.mark.parametrize("path", f"{CI} {HOOKS} {AGENTS} {OTHERS}".split())
def test_what_steers_checks_hooks_or_agents_is_protected(path):
    assert is_protected(path)


@pytest.mark.parametrize("path", OPEN.split())
def test_what_bmads_own_skills_write_is_open(path):
    assert not is_protected(path)


SETTINGS = """
    pyproject.toml pytest.ini .pytest.ini setup.cfg tox.ini noxfile.py conftest.py .coveragerc jest.config.js
    jest.setup.ts vitest.config.mts vite.config.ts vitest.workspace.ts .mocharc.json karma.conf.js
    playwright.config.ts cypress.config.js .nycrc c8.config.js phpunit.xml phpunit.xml.dist .rspec build.gradle
    build.gradle.kts pom.xml Cargo.toml .c8rc.json bunfig.toml deno.json deno.jsonc angular.json project.json
    Taskfile.yml Taskfile.yaml
"""


@pytest.mark.parametrize("name", SETTINGS.split())
def test_settings_of_test_runners(name):
    assert is_settings(name)
    assert is_settings(f"packages/a/{name}")
    assert not is_settings(f"a{name}")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (".github/workflows/a.yml", "a GitHub Action"),
        (".github/actions/a/action.yml", "the CI workflow"),
        (".gitlab-ci.yml", "the CI job"),
        (".circleci/config.yml", "continuous deployment"),
        ("azure-pipelines.yml", "CI/CD"),
        (".husky/pre-push", "husky"),
        (".githooks/a", "a git hook"),
        (".pre-commit-config.yaml", "pre-commit"),
        ("lefthook.yml", "lefthook"),
        (".github/dependabot.yml", "dependabot"),
        (".gitattributes", "git LFS"),
    ],
)
def test_a_story_may_ask_for_a_thing_by_what_people_call_it(path, words):
    assert names_path(f"## Tasks\n\n- [ ] Set up {words}\n", path)
    assert not names_path(f"## Tasks\n\n- [ ] Do not set up {words}\n", path)
    assert not names_path(f"## Tasks\n\n- [ ] Set up {words}\n", "src/a.py")


EXTENSIONS = """
    py js jsx ts tsx mjs cjs mts cts vue svelte go rs java kt kts groovy scala rb php cs fs vb exs ex swift dart c
    cc cpp cxx h hpp m mm feature bats
"""


@pytest.mark.parametrize("extension", EXTENSIONS.split())
def test_languages_are_known_by_their_extension(extension):
    assert is_test_path(f"tests/helpers.{extension}")
    assert not is_test_path(f"src/helpers.{extension}") or extension in ("feature", "bats")
    assert read_suite(f"tests/a.{extension}", b"") is not None


@pytest.mark.parametrize(
    "folder",
    ["test", "tests", "__tests__", "spec", "e2e", "cypress", "Shop.Tests", "shop.test", "unit-tests", "it-tests"],
)
def test_folders_that_hold_tests(folder):
    assert is_test_path(f"{folder}/deep/helpers.py")
    assert not is_test_path(f"{folder}x/deep/helpers.py")


@pytest.mark.parametrize("key", ["reviewResult", "result", "verdict", "outcome", "decision", "status"])
def test_where_a_review_file_says_its_result(key):
    assert read_verdict(f'{{"{key}": "approved"}}'.encode(), None, None).result is Result.APPROVED


@pytest.mark.parametrize("key", ["summary", "message", "reason", "feedback", "notes", "comments"])
def test_where_a_review_file_says_why(key):
    raw = f'{{"result": "rejected", "{key}": "too slow"}}'.encode()
    assert read_verdict(raw, None, None).summary == "too slow"


def test_words_that_stand_in_files_stay_what_they_are():
    assert [one.value for one in FailureKind] == ["code", "environment"]
    assert [one.value for one in Result] == ["approved", "changes-requested", "none"]
    assert [one.value for one in BlockReason] == [
        "no_resource",
        "manual_test_required",
        "human_review_required",
        "critical_decision",
        "subagent_failed",
    ]


def test_a_changes_old_path_is_where_it_was():
    assert Change("b", Kind.RENAMED, "a").old_path == "a"
    assert Change("b", Kind.MODIFIED).old_path == "b"
    assert Change("b", Kind.DELETED).mode == ""
