"""What git ignores and agents need comes along; secrets only where the settings say so; records never."""

import os
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.git.worktrees import populate
from tests.support.repositories import ODD_NAMES
from tests.support.worktree_projects import BRANCH, EPIC, WorktreeProject, contents, worktree_repository

SKILL = ".claude/skills/bmad-dev-story/SKILL.md"


def test_skills_come_along_and_secrets_do_not(sample: WorktreeProject) -> None:
    sample.repository.write(".claude/.bmad-running/x", "state")
    sample.repository.write(".claude/skills/a/1-1.agent-state.json", "{}")
    sample.repository.write("_bmad/scripts/__pycache__/a.pyc", "x")
    sample.repository.write("build/out", "x")
    found = contents(Path(sample.make().folder))
    assert sorted(found) == [SKILL, ".gitignore", "_bmad/bmm/config.yaml", "readme.txt", "src/app.py"]


CLIENTS_AND_ERAS = (
    ".agents/skills/a/SKILL.md",
    ".codex/prompts/a.md",
    ".cursor/commands/a.md",
    ".gemini/commands/a.toml",
    ".opencode/commands/a.md",
    ".github/prompts/a.prompt.md",
    ".bmad-core/core-config.yaml",
    ".bmad-expansion/a.md",
    "bmad/bmm/config.yaml",
    "_own/core/config.yaml",
    "CLAUDE.md",
)


def test_every_clients_and_every_eras(sample: WorktreeProject) -> None:
    for name in CLIENTS_AND_ERAS:
        sample.repository.write(name, "needed")
    sample.repository.write(".git/info/exclude", "".join(f"/{name}\n" for name in CLIENTS_AND_ERAS))
    found = contents(Path(sample.make().folder))
    assert [name for name in CLIENTS_AND_ERAS if found.get(name) != b"needed"] == []


def test_what_the_settings_name_comes_with_its_mode(sample: WorktreeProject) -> None:
    sample.repository.write("deep/.env", "not named")
    (sample.top / "config/local.toml").chmod(0o755)
    made = sample.worktrees(copy=(".env", "config/local.*")).create(EPIC, BRANCH, "main")
    assert worktree_repository(made).read(".env") == b"KEY=secret\n"
    assert worktree_repository(made).read("config/local.toml") == b"a = 1\n"
    assert os.stat(f"{made.folder}/.env").st_mode & 0o777 == 0o600
    assert os.stat(f"{made.folder}/config/local.toml").st_mode & 0o777 == 0o755
    assert not Path(made.folder, "deep").exists()


@pytest.mark.real
def test_globs_count_from_the_projects_folder(tmp_path: Path) -> None:
    sample = WorktreeProject(tmp_path, "apps/web")
    sample.repository.write(".git/info/exclude", ".env\n.cursor\n")
    sample.repository.write(".env", "of another")
    sample.repository.write(".cursor/rules", "for all")
    made = sample.worktrees(copy=(".env",)).create(EPIC, BRANCH, "main")
    assert worktree_repository(made).read("apps/web/.env") == b"KEY=secret\n"
    assert not Path(made.folder, ".env").exists()
    assert worktree_repository(made).read(".cursor/rules") == b"for all"


def test_a_copy_is_no_link_to_the_original(sample: WorktreeProject) -> None:
    made = sample.make()
    worktree_repository(made).write(SKILL, "changed there")
    assert sample.repository.read(SKILL) == b"develop\n"
    assert not os.path.islink(f"{made.folder}/.claude")


def test_what_the_lanes_branch_would_commit_stays_behind(sample: WorktreeProject) -> None:
    sample.repository.run("branch", BRANCH)
    sample.repository.run("switch", "--quiet", BRANCH)
    sample.repository.write(".gitignore", ".claude/\n")
    sample.repository.run("commit", "--quiet", "--all", "--message", "Ignore less")
    sample.repository.run("switch", "--quiet", "main")
    made = sample.worktrees(copy=(".env",)).create(EPIC, BRANCH, "main")
    assert worktree_repository(made).status() == []
    assert any("git does not ignore them there" in note and ".env" in note for note in made.notes)


@pytest.mark.real
def test_what_is_tracked_there_is_not_written_over(sample: WorktreeProject) -> None:
    sample.repository.run("switch", "--quiet", "--create", BRANCH)
    sample.repository.run("add", "--force", SKILL)
    sample.repository.run("commit", "--quiet", "--message", "Track it")
    sample.repository.run("switch", "--quiet", "main")
    sample.repository.write(SKILL, "older\n")
    made = sample.make()
    assert worktree_repository(made).read(SKILL) == b"develop\n"
    assert worktree_repository(made).status() == []


def test_neither_committed_nor_ignored_is_told(sample: WorktreeProject) -> None:
    sample.repository.write(".agents/skills/a/SKILL.md", "x")
    made = sample.make()
    assert not Path(made.folder, ".agents").exists()
    assert any("neither committed nor ignored" in note and ".agents/" in note for note in made.notes)


def test_links_stay_links_where_they_stay_inside(sample: WorktreeProject) -> None:
    claude = sample.top / ".claude"
    (claude / "inside").symlink_to("skills/bmad-dev-story")
    (claude / "dangling").symlink_to("nothing")
    outside = ["absolute", "climbs", "through"]
    (claude / "absolute").symlink_to(sample.top / "src")
    (claude / "climbs").symlink_to("../../outside")
    (sample.top / "build").symlink_to(sample.top.parent)
    (claude / "through").symlink_to("../build")
    made = sample.make()
    there = Path(made.folder, ".claude")
    assert os.readlink(there / "inside") == "skills/bmad-dev-story"
    assert os.readlink(there / "dangling") == "nothing"
    assert [name for name in outside if os.path.lexists(there / name)] == []
    assert any("lead outside" in note for note in made.notes)


@pytest.mark.real
def test_nothing_is_written_through_a_link_of_the_branch(sample: WorktreeProject, tmp_path: Path) -> None:
    aim = tmp_path / "aim"
    aim.mkdir()
    sample.repository.run("switch", "--quiet", "--create", BRANCH)
    sample.repository.run("update-index", "--add", "--cacheinfo", f"120000,{_blob(sample, str(aim))},.claude")
    trapped = sample.repository.run("commit-tree", "-m", "A trap", sample.repository.run("write-tree"))
    sample.repository.run("reset", "--quiet")
    sample.repository.run("switch", "--quiet", "main")
    sample.repository.run("branch", "--force", BRANCH, trapped)
    made = sample.make()
    assert os.path.islink(f"{made.folder}/.claude")
    assert list(aim.iterdir()) == []


def _blob(sample: WorktreeProject, text: str) -> str:
    sample.repository.write("build/blob", text)
    blob = sample.repository.run("hash-object", "-w", "build/blob")
    (sample.top / "build/blob").unlink()
    return blob


@pytest.mark.real
def test_another_repository_inside_is_passed_over(sample: WorktreeProject) -> None:
    sample.repository.run("worktree", "add", "--quiet", "-b", "x", str(sample.top / ".claude/worktrees/x"))
    made = sample.make()
    assert not Path(made.folder, ".claude/worktrees").exists()


@pytest.mark.parametrize("bound", ["MAX_FILES", "MAX_BYTES"])
def test_too_much_is_refused_before_anything_is_made(
    sample: WorktreeProject, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(populate, bound, 1)
    with pytest.raises(AutopilotError, match="too much to copy"):
        sample.make()
    assert sample.registered_worktrees() == {}


def test_odd_names(sample: WorktreeProject) -> None:
    for name in ODD_NAMES:
        sample.repository.write(f".claude/{name}", name.encode("utf-8", "surrogateescape"))
    made = sample.make()
    for name in ODD_NAMES:
        assert worktree_repository(made).read(f".claude/{name}") == name.encode("utf-8", "surrogateescape")
    assert sample.worktrees().remove(EPIC).is_gone


def test_untouched_copies_follow_their_original_and_others_stay(sample: WorktreeProject) -> None:
    sample.repository.write(".claude/other", "one")
    made = sample.make()
    worktree_repository(made).write(".claude/other", "changed there")
    sample.repository.write(SKILL, "a newer skill\n")
    sample.repository.write(".claude/other", "changed here")
    sample.repository.write(".claude/more", "new")
    sample.make()
    assert worktree_repository(made).read(SKILL) == b"a newer skill\n"
    assert worktree_repository(made).read(".claude/other") == b"changed there"
    assert worktree_repository(made).read(".claude/more") == b"new"
    assert "other" in sample.worktrees().remove(EPIC).reason
