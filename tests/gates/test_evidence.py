"""What a story asks for, to the letter."""

import pytest

from bmad_autopilot.core.changes import ChangeKind, FileChange
from bmad_autopilot.gates.evidence import permits_test_removal, requirement_lines, story_names_path


def task(text: str) -> str:
    return f"## Tasks\n\n- [ ] {text}\n"


@pytest.mark.parametrize(
    ("text", "path", "named"),
    [
        ("Change .claude/", ".claude/hooks/a.sh", True),
        ("Change .claude", ".claude/hooks/a.sh", False),
        ("Change .claude/hooks", ".claude/hooks/a.sh", True),
        ("Change .claude/hooks/", ".claude/hooks/a.sh", True),
        ("Change .claude/hooks/*", ".claude/hooks/a.sh", True),
        ("Change .claude/hook", ".claude/hooks/a.sh", False),
        ("Change ./.CLAUDE/Hooks/A.sh", ".claude/hooks/a.sh", True),
        ("Change x.claude/hooks/a.sh", ".claude/hooks/a.sh", False),
        ("Change .mcp.json, and do not forget the tests", ".mcp.json", True),
        ("Never change .mcp.json", ".mcp.json", False),
        ("NEVER change .mcp.json", ".mcp.json", False),
        ("No change of .mcp.json", ".mcp.json", False),
        ("There is no other way than a long walk round it: change .mcp.json", ".mcp.json", True),
    ],
)
def test_a_path_is_named_or_not(text, path, named):
    assert story_names_path(task(text), path) is named


def test_a_no_at_the_very_start_counts():
    assert not story_names_path("no .mcp.json", ".mcp.json")


def test_only_criteria_and_tasks_ask():
    text = "# Story 1.2\n\nIntro\n\n## Notes\n\nnote\n\n## Acceptance Criteria\n\n1. one\n\n### More\n\n2. two\n"
    assert "note" not in requirement_lines("# Notes\n\nnote\n\n## Acceptance Criteria\n\n1. one\n")
    assert "2. two" in requirement_lines(text)
    assert requirement_lines("just text\n\n  more \n") == ("just text", "more")


@pytest.mark.parametrize(
    "old",
    [
        "csv_export",
        "csv-export.spec",
        "test_csv_export",
        "csv_export_spec",
        "csv_export_tests",
        "specs-csv-export",
    ],
)
def test_tests_are_about_what_their_name_says(old):
    asked = task("Remove the CSV export")
    assert permits_test_removal(asked, f"tests/{old}.py", ["src/csv_export.ts"])
    assert not permits_test_removal(asked, f"tests/{old}.py", [])
    assert not permits_test_removal(asked, f"tests/{old}.py", ["src/csv_import.ts"])
    assert not permits_test_removal(task("Remove the CSV import"), f"tests/{old}.py", ["src/csv_export.ts"])


def test_a_thing_whose_name_is_all_that_is_said():
    assert permits_test_removal("remove", "tests/test_remove.py", ["src/remove.py"])


def test_a_name_of_nothing_but_test_is_about_nothing():
    assert not permits_test_removal(task("Remove the old cart"), "tests/test.py", ["src/spec.py"])


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
    assert story_names_path(f"## Tasks\n\n- [ ] Set up {words}\n", path)
    assert not story_names_path(f"## Tasks\n\n- [ ] Do not set up {words}\n", path)
    assert not story_names_path(f"## Tasks\n\n- [ ] Set up {words}\n", "src/a.py")


def test_a_changes_old_path_is_where_it_was():
    assert FileChange("b", ChangeKind.RENAMED, "a").old_path == "a"
    assert FileChange("b", ChangeKind.MODIFIED).old_path == "b"
    assert FileChange("b", ChangeKind.DELETED).mode == ""
