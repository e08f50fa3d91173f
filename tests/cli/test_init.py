"""bmad init: what it writes, what it leaves alone, and that a second run changes nothing."""

import subprocess
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.slash_commands import (
    FOLDERS,
    GENERATED_MARK,
    SLASH_COMMANDS,
    command_path,
    command_text,
    is_generated,
)
from bmad_autopilot.github.auto_approve import auto_approve_files
from bmad_autopilot.project.config_reader import read_config
from bmad_autopilot.project.git_excludes import BEGIN, END, add_excludes
from tests.support.bmad_project import ProjectMaker, SampleProject, make_project, run_bmad

FILES = [
    "bmad-autopilot.toml",
    *(f".claude/commands/{name}.md" for name in ("run-epic", "run-story", "autopilot")),
]


def ignored(sample: SampleProject, *paths: str) -> list[str]:
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", *paths], cwd=sample.root, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def snapshot(root: Path) -> dict[str, bytes]:
    """Every file but git's own data; its exclude file is part of it."""
    found = {str(path.relative_to(root)): path for path in root.rglob("*") if path.is_file()}
    mine = {name for name in found if not name.startswith(".git/") or name == ".git/info/exclude"}
    return {name: found[name].read_bytes() for name in mine}


def test_it_writes_all_files_and_names_the_next_command(project: ProjectMaker) -> None:
    sample = project()
    ran = run_bmad("init", cwd=sample.root)
    assert (ran.code, ran.err) == (0, "")
    for path in (*FILES, ".git/info/exclude"):
        assert f"  written    {path}\n" in ran.out
        assert (sample.root / path).is_file()
    assert ran.out.startswith(f"in {sample.root}:\n")
    assert ran.out.endswith("next: bmad status\n")


def test_the_config_holds_the_projects_own_commands_and_can_be_read(project: ProjectMaker) -> None:
    sample = project()
    sample.write("package.json", '{"scripts": {"test": "vitest run", "lint": "eslint ."}}')
    sample.write("package-lock.json", "{}")
    run_bmad("init", cwd=sample.root)
    path = sample.root / "bmad-autopilot.toml"
    assert tomllib.loads(path.read_text())["commands"]["test"] == ["npm run test"]
    assert read_config(str(path)).commands.test == ("npm run test",)


def test_a_second_run_says_so_and_changes_nothing(project: ProjectMaker) -> None:
    sample = project()
    run_bmad("init", cwd=sample.root)
    before = snapshot(sample.root)
    ran = run_bmad("init", cwd=sample.root)
    assert ran.code == 0
    assert ran.out.count("(already up to date)") == 5
    assert "written" not in ran.out
    assert snapshot(sample.root) == before


def test_a_dry_run_writes_nothing(project: ProjectMaker) -> None:
    sample = project()
    before = snapshot(sample.root)
    ran = run_bmad("init", "--dry-run", cwd=sample.root)
    assert ran.out.count("would be written") == 5
    assert ran.out.endswith("next: bmad init\n")
    assert snapshot(sample.root) == before


def test_the_users_config_is_kept(project: ProjectMaker) -> None:
    sample = project()
    own = sample.write("bmad-autopilot.toml", 'agent = "codex"  # mine\n')
    ran = run_bmad("init", cwd=sample.root)
    assert ran.code == 0
    assert "kept       bmad-autopilot.toml  (yours; --force" in ran.out
    assert own.read_text() == 'agent = "codex"  # mine\n'
    assert not own.with_name("bmad-autopilot.toml.bak").exists()


def test_force_keeps_every_old_config(project: ProjectMaker) -> None:
    sample = project()
    own = sample.write("bmad-autopilot.toml", "first, and no TOML at all\n")
    assert run_bmad("init", "--force", "--dry-run", cwd=sample.root).code == 0
    assert own.read_text() == "first, and no TOML at all\n"
    run_bmad("init", "--force", cwd=sample.root)
    assert read_config(str(own)).agent == "claude"
    own.write_text("second\n")
    run_bmad("init", "--force", cwd=sample.root)
    backups = [own.with_name(f"bmad-autopilot.toml.{end}").read_text() for end in ("bak", "bak1")]
    assert backups == ["first, and no TOML at all\n", "second\n"]


def test_force_without_a_difference_makes_no_backup(project: ProjectMaker) -> None:
    sample = project()
    run_bmad("init", cwd=sample.root)
    ran = run_bmad("init", "--force", cwd=sample.root)
    assert "bak" not in ran.out


# excludes


def test_git_does_not_see_our_state_any_more(project: ProjectMaker) -> None:
    sample = project()
    run_bmad("init", cwd=sample.root)
    state = [
        "_bmad-output/.runs/main/x/state.json",
        ".autopilot/state.json",
        ".claude/.bmad-running/x",
        "a/b/.run-epic-state.json",
        "_bmad-output/implementation-artifacts/1-1-x.agent-state.json",
        "_bmad-output/implementation-artifacts/1-1-x.review.json",
    ]
    assert ignored(sample, *state, ".autopilot/config", "review.json", "bmad-autopilot.toml") == state


def test_in_a_monorepo_only_the_projects_folder_is_touched(tmp_path: Path) -> None:
    top = tmp_path / "mono"
    odd = "apps/[a] *web\\x"
    sample = make_project(top / odd, with_git=False)
    subprocess.run(["git", "init", "--quiet", str(top)], check=True)
    ran = run_bmad("init", cwd=sample.root / "_bmad-output")
    assert ran.code == 0
    state = ["_bmad-output/.runs/x", "deep/1-1-x.review.json", ".run-epic-state.json"]
    assert len(ignored(sample, *state)) == 3
    assert ignored(sample, ".autopilot/config") == []
    outside = SampleProject(top, sample.era)
    assert ignored(outside, *state) == []


def test_two_projects_of_one_repository_share_the_block(tmp_path: Path) -> None:
    samples = [make_project(tmp_path / "mono" / name, with_git=False) for name in ("one", "two")]
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "mono")], check=True)
    for sample in (*samples, *samples):
        run_bmad("init", cwd=sample.root)
    text = (tmp_path / "mono" / ".git" / "info" / "exclude").read_text()
    assert (text.count(BEGIN), text.count(END)) == (1, 1)
    assert text.count("/one/_bmad-output/.runs/") == text.count("/two/_bmad-output/.runs/") == 1


def test_without_git_there_is_nothing_to_exclude(project: ProjectMaker) -> None:
    sample = project(with_git=False)
    ran = run_bmad("init", cwd=sample.root)
    assert ran.code == 0
    assert "exclude" not in ran.out
    assert not (sample.root / ".git").exists()


def test_a_repository_without_an_info_folder(project: ProjectMaker) -> None:
    sample = project()
    (sample.root / ".git" / "info" / "exclude").unlink(missing_ok=True)
    (sample.root / ".git" / "info").rmdir()
    assert run_bmad("init", cwd=sample.root).code == 0
    assert ignored(sample, ".run-epic-state.json") == [".run-epic-state.json"]


@given(st.binary(max_size=200), st.lists(st.sampled_from(["/a/", "*.b", "!/c"]), unique=True))
def test_other_lines_of_the_exclude_file_stay_byte_for_byte(before: bytes, wanted: list[str]) -> None:
    after = add_excludes(before, wanted)
    assert after.startswith(before)
    assert after.count(END.encode()) == 1
    assert add_excludes(after, wanted) == after
    more = add_excludes(after + b"theirs\n", ["/new"])
    assert more.startswith(before)
    assert more.endswith(b"theirs\n")
    assert b"\n/new\n" + END.encode() in more


# commands


@pytest.mark.parametrize("agent", FOLDERS)
def test_each_command_only_calls_the_command_line(agent: str) -> None:
    for command in SLASH_COMMANDS:
        text = command_text(command, agent)
        assert f"\nbmad {command.name} $ARGUMENTS\n" in text
        assert is_generated(text.encode())


def test_cursor_gets_its_commands_where_it_is_used(project: ProjectMaker) -> None:
    sample = project()
    (sample.root / ".cursor").mkdir()
    ran = run_bmad("init", cwd=sample.root)
    assert "written    .cursor/commands/run-story.md" in ran.out
    assert (sample.root / ".claude/commands/run-story.md").is_file()


def test_a_client_nobody_uses_gets_none(project: ProjectMaker) -> None:
    sample = project(era="build")
    (sample.root / ".claude").rename(sample.root / ".agents")
    sample.write("bmad-autopilot.toml", 'agent = "cursor"\n')
    run_bmad("init", cwd=sample.root)
    assert not (sample.root / ".claude").exists()
    assert (sample.root / ".cursor/commands/autopilot.md").is_file()


def test_a_command_of_the_users_own_is_kept_and_an_old_one_of_ours_renewed(project: ProjectMaker) -> None:
    sample = project()
    own = sample.write(command_path(SLASH_COMMANDS[0], "claude"), "# my own run-epic\n")
    old = sample.write(command_path(SLASH_COMMANDS[1], "claude"), f"{GENERATED_MARK}\nan older text\n")
    ran = run_bmad("init", cwd=sample.root)
    assert "kept       .claude/commands/run-epic.md  (yours)" in ran.out
    assert own.read_text() == "# my own run-epic\n"
    assert old.read_text() == command_text(SLASH_COMMANDS[1], "claude")


# where it writes


def test_from_a_sub_folder(project: ProjectMaker) -> None:
    sample = project()
    ran = run_bmad("init", cwd=sample.implementation)
    assert f"in {sample.root}:" in ran.out
    assert (sample.root / "bmad-autopilot.toml").is_file()


def test_in_a_linked_worktree_the_owner_is_written_and_said(project: ProjectMaker, tmp_path: Path) -> None:
    sample = project()
    sample.git("worktree", "add", "--quiet", "-b", "lane", str(tmp_path / "lane"))
    ran = run_bmad("init", cwd=tmp_path / "lane")
    assert f"in {sample.root}, the owner of this linked worktree:" in ran.out
    assert (sample.root / "bmad-autopilot.toml").is_file()
    assert not (tmp_path / "lane" / "bmad-autopilot.toml").exists()


def test_a_link_out_of_the_project_is_refused_and_the_rest_is_written(
    project: ProjectMaker, tmp_path: Path
) -> None:
    sample = project(era="commands")
    (tmp_path / "elsewhere").mkdir()
    (sample.root / ".cursor").symlink_to(tmp_path / "elsewhere")
    (sample.root / "bmad-autopilot.toml").symlink_to(tmp_path / "elsewhere" / "settings.toml")
    ran = run_bmad("init", cwd=sample.root)
    assert ran.code == 1
    assert ran.out.count("refused") == 4
    assert "a link leads out of the project" in ran.out
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert (sample.root / ".claude/commands/run-epic.md").is_file()


def test_a_link_inside_the_project_is_followed(project: ProjectMaker) -> None:
    sample = project()
    sample.write("conf/autopilot.toml", "")
    (sample.root / "bmad-autopilot.toml").symlink_to("conf/autopilot.toml")
    run_bmad("init", "--force", cwd=sample.root)
    assert (sample.root / "bmad-autopilot.toml").is_symlink()
    assert "BMAD Autopilot" in (sample.root / "conf/autopilot.toml").read_text()


def test_folders_and_files_in_the_wrong_place(project: ProjectMaker) -> None:
    sample = project(era="build")
    (sample.root / ".claude").rename(sample.root / ".agents")
    sample.write(".claude", "a file\n")
    (sample.root / "bmad-autopilot.toml").mkdir()
    ran = run_bmad("init", "--force", cwd=sample.root)
    assert ran.code == 1
    assert ran.out.count("refused") == 4
    assert "Traceback" not in ran.err
    assert "written    .git/info/exclude" in ran.out


def test_where_there_is_no_bmad_the_next_command_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    ran = run_bmad("init", cwd=tmp_path / "bare")
    assert ran.code == 0
    assert ran.out.endswith("next: bmad doctor\n")


# bmad init --github: both files or none, nothing of the user's lost, and a second run changes nothing.

WORKFLOW, SCRIPT = ".github/workflows/auto-approve.yml", ".github/scripts/auto-approve-gate.py"


def test_it_writes_both_files_and_names_the_setting_they_need(project: ProjectMaker) -> None:
    sample = project()
    ran = run_bmad("init", "--github", cwd=sample.root)
    assert (ran.code, ran.err) == (0, "")
    for file in auto_approve_files():
        assert f"  written    {file.path}\n" in ran.out
        assert (sample.root / file.path).read_text() == file.text
    assert "Allow GitHub Actions to create and approve pull requests" in ran.out
    assert "anybody who can push a branch can\nhave it approved" in ran.out
    assert max(map(len, ran.out.splitlines()[1:])) <= 80  # the first names the folder
    assert "docs/" not in ran.out  # an installed one has none


def test_a_second_run_changes_nothing(project: ProjectMaker) -> None:
    sample = project()
    run_bmad("init", "--github", cwd=sample.root)
    ran = run_bmad("init", "--github", cwd=sample.root)
    assert ran.code == 0
    assert "written" not in ran.out
    assert f"unchanged  {WORKFLOW}  (already up to date)" in ran.out


def test_without_the_option_nothing_is_written(project: ProjectMaker) -> None:
    sample = project()
    run_bmad("init", cwd=sample.root)
    assert not (sample.root / ".github").exists()


def test_a_dry_run_only_tells(project: ProjectMaker) -> None:
    sample = project()
    ran = run_bmad("init", "--github", "--dry-run", cwd=sample.root)
    assert f"would be written  {WORKFLOW}" in ran.out
    assert ran.out.endswith("next: bmad init --github\n")
    assert not (sample.root / ".github").exists()


@pytest.mark.parametrize("path", [WORKFLOW, SCRIPT])
def test_somebodys_own_file_is_kept_and_the_other_not_written(project: ProjectMaker, path: str) -> None:
    sample = project()
    own = sample.write(path, "mine\n")
    ran = run_bmad("init", "--github", "--force", cwd=sample.root)
    assert ran.code == 1
    assert f"refused    {path}  (it is there and not ours: move it away first)" in ran.out
    assert own.read_text() == "mine\n"
    assert [(sample.root / name).exists() for name in (WORKFLOW, SCRIPT)].count(True) == 1


def test_an_older_text_of_ours_is_replaced(project: ProjectMaker) -> None:
    sample = project()
    run_bmad("init", "--github", cwd=sample.root)
    script = sample.root / SCRIPT
    new = script.read_text()
    script.write_text(new.replace("min_age=600.0", "min_age=0.0"))
    ran = run_bmad("init", "--github", cwd=sample.root)
    assert f"written    {SCRIPT}" in ran.out
    assert script.read_text() == new


def test_a_project_in_a_subfolder_gets_them_where_github_looks(project: ProjectMaker, tmp_path: Path) -> None:
    sample = project()
    subprocess.run(["rm", "-rf", sample.root / ".git"], check=True)
    subprocess.run(["git", "init", "-q", sample.root.parent], check=True)
    ran = run_bmad("init", "--github", cwd=sample.root)
    assert ran.code == 0, ran.out
    assert (sample.root.parent / WORKFLOW).is_file()
    assert not (sample.root / ".github").exists()


def test_without_a_repository_it_says_so(project: ProjectMaker) -> None:
    sample = project()
    subprocess.run(["rm", "-rf", sample.root / ".git"], check=True)
    ran = run_bmad("init", "--github", cwd=sample.root)
    assert ran.code == 1
    assert "there is no git repository here" in ran.out
