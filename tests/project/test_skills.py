"""Installed skills and commands, and what to type for each, per agent and per version of BMAD."""

from pathlib import Path

import pytest

from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.project.skills import CLIENTS, Skill, find_skill, find_skills
from tests.project.trees import lay, write

PLAIN = "---\nname: x\ndescription: 'It''s plain'\n---\n\nlifecycle: shim\n"
SHIM = '---\nname: x\ndescription: "Deprecated: `y` is better"\nmetadata:\n  lifecycle: shim\n---\n\nDo it.\n'


def skills(root: Path, agent: str = "claude", home: Path | None = None) -> dict[str, Skill]:
    return find_skills(str(root), agent, str(home) if home else None)


def say(root: Path, name: str = "dev-story", agent: str = "claude") -> str:
    return skills(root, agent)[name].invocation


@pytest.mark.parametrize(
    ("path", "name", "invocation"),
    [
        (".claude/skills/bmad-dev-story/SKILL.md", "dev-story", "/bmad-dev-story"),
        (".claude/skills/bmad-agent-dev/SKILL.md", "agent-dev", "/bmad-agent-dev"),
        (".claude/commands/bmad-bmm-dev-story.md", "dev-story", "/bmad-bmm-dev-story"),
        (".claude/commands/bmad-help.md", "help", "/bmad-help"),
        (".claude/commands/bmad-agent-bmm-dev.md", "agent-dev", "/bmad-agent-bmm-dev"),
        (".claude/commands/bmad_bmm_dev-story.md", "dev-story", "/bmad_bmm_dev-story"),
        (".claude/commands/bmad/bmm/workflows/dev-story.md", "dev-story", "/bmad:bmm:workflows:dev-story"),
        (".claude/commands/bmad/bmm/agents/dev.md", "agent-dev", "/bmad:bmm:agents:dev"),
        (".claude/commands/bmad/core/tasks/index-docs.md", "index-docs", "/bmad:core:tasks:index-docs"),
        (".claude/commands/BMad/agents/dev.md", "agent-dev", "/BMad:agents:dev"),
        (".claude/commands/BMad/tasks/create-next-story.md", "create-next-story", "/BMad:tasks:create-next-story"),
    ],
)
def test_claude_is_told_by_what_is_on_disk(tmp_path: Path, path: str, name: str, invocation: str) -> None:
    lay(tmp_path, path)
    assert skills(tmp_path) == {name: Skill(name, invocation, str(tmp_path / path))}


@pytest.mark.parametrize(
    ("agent", "path", "invocation"),
    [
        ("codex", ".agents/skills/bmad-dev-story/SKILL.md", "$bmad-dev-story"),
        ("codex", ".agents/skills/bmad-bmm-dev-story/SKILL.md", "$bmad-bmm-dev-story"),
        ("codex", ".codex/prompts/bmad-bmm-dev-story.md", "/prompts:bmad-bmm-dev-story"),
        ("opencode", ".agents/skills/bmad-dev-story/SKILL.md", "--command bmad-dev-story"),
        ("opencode", ".claude/skills/bmad-dev-story/SKILL.md", "--command bmad-dev-story"),
        ("opencode", ".opencode/commands/bmad-bmm-dev-story.md", "--command bmad-bmm-dev-story"),
        ("gemini", ".agents/skills/bmad-dev-story/SKILL.md", "Use the skill bmad-dev-story:"),
        ("gemini", ".gemini/commands/bmad-bmm-dev-story.toml", "/bmad-bmm-dev-story"),
        ("copilot", ".agents/skills/bmad-dev-story/SKILL.md", "Use the skill bmad-dev-story:"),
        (
            "copilot",
            ".github/prompts/bmad-bmm-dev-story.prompt.md",
            "Follow the instructions in .github/prompts/bmad-bmm-dev-story.prompt.md:",
        ),
        ("cursor", ".agents/skills/bmad-dev-story/SKILL.md", "/bmad-dev-story"),
        ("cursor", ".cursor/commands/bmad-bmm-dev-story.md", "/bmad-bmm-dev-story"),
    ],
)
def test_each_agent_is_told_in_its_own_way(tmp_path: Path, agent: str, path: str, invocation: str) -> None:
    lay(tmp_path, path)
    assert say(tmp_path, agent=agent) == invocation


@pytest.mark.parametrize("agent", CLIENTS)
def test_an_agent_does_not_see_what_lies_elsewhere(tmp_path: Path, agent: str) -> None:
    lay(tmp_path, ".windsurf/skills/bmad-dev-story/SKILL.md", "_bmad/skills/bmad-dev-story/SKILL.md")
    assert skills(tmp_path, agent) == {}


def test_codex_does_not_see_claudes_skills(tmp_path: Path) -> None:
    lay(tmp_path, ".claude/skills/bmad-dev-story/SKILL.md")
    assert skills(tmp_path, "codex") == {}


def test_an_upgrade_leaves_older_forms_behind_and_the_newest_counts(tmp_path: Path) -> None:
    lay(tmp_path, ".claude/commands/bmad/bmm/workflows/dev-story.md")
    assert say(tmp_path) == "/bmad:bmm:workflows:dev-story"
    lay(tmp_path, ".claude/commands/bmad_bmm_dev-story.md")
    assert say(tmp_path) == "/bmad_bmm_dev-story"
    lay(tmp_path, ".claude/commands/bmad-bmm-dev-story.md")
    assert say(tmp_path) == "/bmad-bmm-dev-story"
    lay(tmp_path, ".claude/skills/bmad-dev-story/SKILL.md")
    assert say(tmp_path) == "/bmad-dev-story"


def test_the_home_folder_fills_what_the_project_lacks(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    lay(project, ".claude/commands/bmad-bmm-dev-story.md")
    lay(home, ".claude/skills/bmad-dev-story/SKILL.md", ".claude/skills/bmad-build/SKILL.md")
    found = skills(project, home=home)
    assert found["dev-story"].invocation == "/bmad-bmm-dev-story"
    assert found["build"].path == str(home / ".claude/skills/bmad-build/SKILL.md")


def test_other_peoples_skills_are_not_bmads(tmp_path: Path) -> None:
    lay(
        tmp_path,
        ".claude/skills/review/SKILL.md",
        ".claude/skills/bmad-empty/",
        ".claude/commands/fix.md",
        ".claude/commands/bmad-notes.txt",
        ".claude/commands/bmad/README.md",
        ".claude/commands/bmad/bmm/workflows/README.md",
        ".claude/commands/tools/bmm/workflows/dev-story.md",
    )
    assert skills(tmp_path) == {}


def test_a_shim_is_known_by_its_front_matter_only(tmp_path: Path) -> None:
    for end in ("\n", "\r\n"):
        write(tmp_path, ".claude/skills/bmad-dev-story/SKILL.md", SHIM.replace("\n", end))
        write(tmp_path, ".claude/skills/bmad-dev-story/checklist.md", "")
        write(tmp_path, ".claude/skills/bmad-build/SKILL.md", PLAIN.replace("\n", end))
        found = skills(tmp_path)
        assert (found["dev-story"].is_shim, found["dev-story"].is_usable) == (True, True)
        assert (found["build"].is_shim, found["build"].is_usable) == (False, True)


def test_broken_front_matter_is_no_shim_and_no_crash(tmp_path: Path) -> None:
    write(tmp_path, ".claude/skills/bmad-a/SKILL.md", "---\nmetadata: lifecycle: shim\n---\n")
    write(tmp_path, ".claude/skills/bmad-b/SKILL.md", "---\nlifecycle")
    assert [(skill.is_shim, skill.is_usable) for skill in skills(tmp_path).values()] == [(False, True)] * 2


def test_a_stub_that_only_forwards_is_not_usable(tmp_path: Path) -> None:
    write(tmp_path, ".claude/skills/bmad-quick-dev/SKILL.md", SHIM)
    assert not skills(tmp_path)["quick-dev"].is_usable


def test_dev_auto_is_usable_only_with_its_steps(tmp_path: Path) -> None:
    folder = ".claude/skills/bmad-dev-auto"
    write(tmp_path, f"{folder}/SKILL.md", PLAIN)
    assert not skills(tmp_path)["dev-auto"].is_usable
    lay(tmp_path, f"{folder}/customize.toml")
    assert not skills(tmp_path)["dev-auto"].is_usable
    lay(tmp_path, f"{folder}/step-04-review.md")
    assert skills(tmp_path)["dev-auto"].is_usable


def test_a_skill_nobody_may_read_is_not_usable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(path: str, flags: int) -> int:
        raise PermissionError(13, "Permission denied")

    write(tmp_path, ".claude/skills/bmad-build/SKILL.md", PLAIN)
    with monkeypatch.context() as patch:  # the module is everybody's: fixtures open files too
        patch.setattr("bmad_autopilot.io.files.os.open", forbidden)
        found = skills(tmp_path)["build"]
        assert not found.is_usable


def test_a_skill_too_large_to_be_one_is_not_usable(tmp_path: Path) -> None:
    write(tmp_path, ".claude/skills/bmad-build/SKILL.md", "x" * 2_000_000)
    assert not skills(tmp_path)["build"].is_usable


@pytest.mark.parametrize(
    ("paths", "invocation"),
    [
        ([".claude/skills/bmad-create-story/SKILL.md"], "/bmad-create-story validate"),
        ([".claude/commands/bmad-bmm-create-story.md"], "/bmad-bmm-create-story validate"),
        (
            [".claude/commands/bmad/bmm/workflows/create-story.md", ".claude/commands/bmad/bmm/agents/sm.md"],
            "/bmad:bmm:agents:sm *validate-create-story",
        ),
    ],
)
def test_validating_is_an_action_of_create_story(tmp_path: Path, paths: list[str], invocation: str) -> None:
    assert say(lay(tmp_path, *paths), "validate") == invocation


def test_without_create_story_there_is_nothing_to_validate_with(tmp_path: Path) -> None:
    assert "validate" not in skills(lay(tmp_path, ".claude/skills/bmad-build/SKILL.md"))


def test_an_unknown_agent_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="codex"):
        skills(tmp_path, "clippy")


def test_a_huge_tree_of_commands_is_bounded(tmp_path: Path) -> None:
    deep = tmp_path / ".claude/commands/bmad"
    (deep / "/".join("abcdefghij")).mkdir(parents=True)
    (deep / "/".join("abcdefghij") / "x.md").write_text("")
    (tmp_path / ".claude/commands/bmad/loop").symlink_to(deep)
    assert skills(tmp_path) == {}


def test_one_skill_is_what_it_is_among_all(tmp_path: Path) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    lay(project, ".claude/commands/bmad/bmm/agents/sm.md", ".claude/commands/bmad-bmm-code-review.md")
    lay(project, ".claude/commands/bmad/bmm/workflows/create-story.md")
    write(project, ".claude/skills/bmad-dev-story/SKILL.md", SHIM)
    lay(home, ".claude/skills/bmad-build/SKILL.md", ".claude/skills/bmad-dev-story/SKILL.md")
    every = skills(project, home=home)
    assert every.keys() >= {"dev-story", "build", "code-review", "create-story", "validate", "agent-sm"}
    for name in (*every, "missing"):
        assert find_skill(str(project), "claude", str(home), name) == every.get(name)


def test_looking_for_one_skill_does_not_open_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(tmp_path, *(f".claude/skills/bmad-{name}/SKILL.md" for name in ("a", "b", "c")))
    opened: list[str] = []

    def read(path: str, **_: int) -> bytes:
        opened.append(path)
        return b"---\n"

    monkeypatch.setattr("bmad_autopilot.project.skills.read_bytes", read)
    assert find_skill(str(tmp_path), "claude", None, "b") is not None
    assert opened == [str(tmp_path / ".claude/skills/bmad-b/SKILL.md")]
