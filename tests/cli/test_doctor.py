"""bmad doctor: every line true, every problem with a fix, and never a crash on a broken project."""

import json
import os
import subprocess
from importlib.resources import files as resources
from pathlib import Path

import jsonschema
import pytest

from bmad_autopilot.cli.doctor import exit_code, run_checks
from bmad_autopilot.io.files import hold_lock, is_locked
from bmad_autopilot.views.doctor import CheckState, DoctorCheck
from tests.support.agent_stubs import is_alive, wait_until
from tests.support.bmad_project import BOARD, ProjectMaker, SampleProject, run_bmad
from tests.support.isolated_path import IsolatedPath

QUICK = 0.5  # seconds that a program is given here


def checks(project: SampleProject | Path, *, seconds: float = 10) -> dict[str, DoctorCheck]:
    start = project if isinstance(project, Path) else project.root
    return {check.name: check for check in run_checks(str(start), seconds=seconds)}


def code(project: SampleProject) -> int:
    return exit_code(run_checks(str(project.root)))


def fix(check: DoctorCheck) -> str:
    assert check.fix is not None
    return check.fix


def test_a_healthy_project_has_no_failure(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    sample.git("remote", "add", "origin", "git@github.com:acme/widgets.git")
    ran = run_bmad("doctor", cwd=sample.root)
    assert (ran.code, ran.err) == (0, "")
    assert "FAIL" not in ran.out
    assert "warn" not in ran.out
    for words in (
        "ok    python",
        "ok    git ",
        "ok    remote                 origin is acme/widgets on github.com",
        "ok    gh login               logged in to github.com",
        "ok    agent claude           2.1.325 (Claude Code)",
        "ok    BMAD                   6.10.0, classic era, _bmad",
        "ok    skill dev-story        claude: /bmad-dev-story",
        "5 stories in 2 epics",
        "ok    board lock             free",
        "all is well",
    ):
        assert words in ran.out
    assert "\x1b" not in ran.out


def test_colour_comes_only_when_asked_for(machine: IsolatedPath, project: ProjectMaker) -> None:
    ran = run_bmad("--color", "always", "doctor", cwd=project().root)
    assert "\x1b[32mok\x1b[0m" in ran.out


@pytest.mark.parametrize("era", ["classic", "build", "shims", "commands", "alpha", "v4"])
def test_the_json_document_keeps_its_schema_in_every_era(
    machine: IsolatedPath, project: ProjectMaker, era: str
) -> None:
    ran = run_bmad("doctor", "--json", cwd=project(era=era).root)
    schema = json.loads((resources("bmad_autopilot") / "schemas/doctor.schema.json").read_text())
    document = json.loads(ran.out)
    jsonschema.validate(document, schema)
    assert len({check["name"] for check in document["checks"]}) == len(document["checks"])


def test_the_exit_code_tells_failed_from_unreadable() -> None:
    well, failed = DoctorCheck("a", CheckState.WARN, "x", "y"), DoctorCheck("b", CheckState.FAIL, "x", "y")
    assert exit_code([well]) == 0
    assert exit_code([well, failed]) == 1
    assert exit_code([failed, failed._replace(unreadable=True)]) == 4


# agents


def test_a_missing_agent_fails_and_the_fix_names_the_one_that_is_there(
    machine: IsolatedPath, project: ProjectMaker
) -> None:
    machine.remove("claude")
    machine.add("codex", "echo codex-cli 0.166.0")
    ran = run_bmad("doctor", cwd=project().root)
    assert ran.code == 1
    assert "FAIL  agent claude" in ran.out
    assert "fix: npm install -g @anthropic-ai/claude-code" in ran.out
    assert 'agent = "codex" in bmad-autopilot.toml' in ran.out


def test_an_agent_of_one_role_is_needed_too(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    sample.write("bmad-autopilot.toml", '[roles.qa]\nagent = "gemini"\n')
    found = checks(sample)
    assert found["agent gemini"].state is CheckState.FAIL
    assert found["agent claude"].state is CheckState.OK
    assert "add gemini to its tools" in fix(found["skill code-review"])


def test_one_that_stands_in_is_needed_too(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    sample.write("bmad-autopilot.toml", 'fallback = "gemini"\n')
    found = checks(sample)
    assert found["agent gemini"].state is CheckState.FAIL
    assert found["agent claude"].state is CheckState.OK


def test_other_agents_are_only_noted(machine: IsolatedPath, project: ProjectMaker) -> None:
    machine.add("opencode", "echo 1.18.33")
    found = checks(project())
    assert found["agent opencode"] == DoctorCheck("agent opencode", CheckState.NOTE, "1.18.33")
    assert "agent gemini" not in found


def test_an_agent_gets_no_secret_and_no_input(
    machine: IsolatedPath, project: ProjectMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "hush-hush")
    monkeypatch.setenv("SOME_API_KEY", "hush-hush")
    machine.link("env")
    machine.link("cat")
    machine.add("claude", f"env > {tmp_path}/seen; cat >> {tmp_path}/seen; echo 1.0")
    assert checks(project())["agent claude"].found == "1.0"
    seen = (tmp_path / "seen").read_text()
    assert "hush-hush" not in seen
    assert "HOME=" in seen


def test_what_an_agent_prints_cannot_steer_the_terminal(machine: IsolatedPath, project: ProjectMaker) -> None:
    machine.add("claude", r"printf '\033[2J\377\000\033]0;x\007 1.0\nmore\n'")
    sample = project()
    assert checks(sample)["agent claude"].found.isprintable()
    ran = run_bmad("doctor", cwd=sample.root)
    assert "\x1b" not in ran.out
    assert "\x07" not in ran.out
    assert "agent claude" in ran.out


def test_a_silent_agent_is_still_there(machine: IsolatedPath, project: ProjectMaker) -> None:
    machine.add("claude", ":")
    assert checks(project())["agent claude"] == DoctorCheck("agent claude", CheckState.OK, "(no version given)")


def test_a_failing_agent_fails_with_its_words(machine: IsolatedPath, project: ProjectMaker) -> None:
    machine.add("claude", "echo 'node: bad option' >&2; exit 9")
    check = checks(project())["agent claude"]
    assert (check.state, check.fix) == (CheckState.FAIL, "claude --version")
    assert "node: bad option" in check.found


# git and gh


def test_without_git_the_other_lines_still_come(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    machine.remove("git")
    found = checks(sample)
    assert found["git"].state is CheckState.FAIL
    assert found["board"].state is CheckState.OK
    assert found["agent claude"].state is CheckState.OK


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo nonsense", "nonsense"),
        ("echo broken >&2; exit 127", "broken"),
        ("echo git version 2.25.1", "2.30 is needed"),
    ],
)
def test_a_git_that_will_not_do_fails(
    machine: IsolatedPath, project: ProjectMaker, script: str, words: str
) -> None:
    sample = project()
    machine.add("git", script)
    check = checks(sample)["git"]
    assert check.state is CheckState.FAIL
    assert words in check.found


def test_outside_a_repository(machine: IsolatedPath, project: ProjectMaker) -> None:
    check = checks(project(with_git=False))["repository"]
    assert check.state is CheckState.FAIL
    assert fix(check).startswith("git init ")


def test_a_repository_that_git_refuses_is_said_in_gits_words(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    (sample.root / ".git" / "config").write_text("[core\n")
    check = checks(sample)["repository"]
    assert check.state is CheckState.FAIL
    assert "bad config" in check.found


def test_an_unset_identity_fails(
    machine: IsolatedPath, project: ProjectMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sample = project()
    (tmp_path / "empty").write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "empty"))
    check = checks(sample)["git identity"]
    assert check.state is CheckState.FAIL
    assert "user.name and user.email" in check.found
    assert fix(check).count("git config --global") == 2


def test_a_rebase_under_way_is_said(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    sample.git("switch", "--quiet", "--create", "side")
    sample.write("x", "side\n")
    sample.commit()
    sample.git("switch", "--quiet", "main")
    sample.write("x", "main\n")
    sample.commit()
    with pytest.raises(subprocess.CalledProcessError):
        sample.git("rebase", "side")
    check = checks(sample)["repository"]
    assert (check.state, check.fix) == (CheckState.WARN, "git rebase --continue, or git rebase --abort")


def test_a_detached_head_is_said(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    sample.git("switch", "--quiet", "--detach")
    check = checks(sample)["repository"]
    assert check.state is CheckState.WARN
    assert "detached" in check.found


def test_gh_is_not_needed_but_missed(machine: IsolatedPath, project: ProjectMaker) -> None:
    machine.remove("gh")
    sample = project()
    assert checks(sample)["gh"].state is CheckState.WARN
    assert code(sample) == 0


def test_logged_out_of_gh(machine: IsolatedPath, project: ProjectMaker) -> None:
    machine.add("gh", 'echo "gh version 2.60.1"; echo "Token: gho_secret" >&2; [ "$1" != auth ]')
    ran = run_bmad("doctor", cwd=project().root)
    assert "warn  gh login" in ran.out
    assert "gh auth login" in ran.out
    assert "gho_secret" not in ran.out + ran.err


def test_a_gh_that_hangs_is_ended_with_its_children(
    machine: IsolatedPath, project: ProjectMaker, tmp_path: Path
) -> None:
    wait = f"sleep 300 & echo $! > {tmp_path}/child; wait"
    machine.add("gh", f'echo "gh version 2.60.1"; [ "$1" != auth ] && exit; {wait}')
    check = checks(project(), seconds=QUICK)["gh login"]
    assert check.state is CheckState.WARN
    assert "did not answer in 0.5 s" in check.found
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not is_alive(child), "the child of gh ended")  # a killed process goes a moment later


# broken files


def test_a_broken_config_is_a_line_and_the_others_still_come(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    sample.write("bmad-autopilot.toml", 'agent = "claude"\nagnet = 1\n')
    ran = run_bmad("doctor", cwd=sample.root)
    assert ran.code == 4
    assert "FAIL  config" in ran.out
    assert "bmad-autopilot.toml:2: unknown key `agnet`" in ran.out
    assert "did you mean `agent`?" in ran.out
    assert "ok    board " in ran.out


@pytest.mark.parametrize("data", [b"\xff\xfea\0", b"a\0b", b"= = =\n", b"\xc3\x28"])
def test_no_config_makes_it_crash(machine: IsolatedPath, project: ProjectMaker, data: bytes) -> None:
    sample = project()
    sample.write("bmad-autopilot.toml", data)
    found = checks(sample)
    assert found["config"].unreadable
    assert "bmad-autopilot.toml" in found["config"].found


def test_a_folder_in_place_of_the_config(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    (sample.root / "bmad-autopilot.toml").mkdir()
    assert checks(sample)["config"].state is CheckState.FAIL


def test_a_broken_board_is_shown_with_its_place(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project(board=BOARD.replace("  1-1-sign-up: done", "  1-1-sign-up: done: really"))
    check = checks(sample)["board"]
    assert check.state is CheckState.FAIL
    assert check.unreadable
    line = BOARD.splitlines().index("  1-1-sign-up: done") + 1
    assert f"sprint-status.yaml:{line}:" in check.found
    assert code(sample) == 4


def test_several_boards_and_nothing_decides(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project(board=None)
    for part in ("one", "two"):
        sample.write(f"{part}/sprint-status.yaml", BOARD)
    check = checks(sample)["board"]
    assert check.state is CheckState.FAIL
    assert 'board = "one/sprint-status.yaml"' in fix(check)


def test_a_chosen_board_outside_the_project_is_the_only_word_about_the_board(
    machine: IsolatedPath, project: ProjectMaker
) -> None:
    sample = project()
    sample.write("bmad-autopilot.toml", 'board = "../elsewhere.yaml"\n')
    found = [check for check in run_checks(str(sample.root)) if check.name == "board"]
    assert [check.state for check in found] == [CheckState.FAIL]
    assert "bmad-autopilot.toml:1: `board` leaves the project" in found[0].found


def test_a_board_beside_the_one_that_is_read(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    sample.write("docs/sprint-status.yaml", BOARD)
    check = checks(sample)["other-board"]
    assert check.state is CheckState.WARN
    assert check.found.startswith("docs/sprint-status.yaml: another board")


def test_no_board_yet_is_no_failure(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project(board=None, epics=None, stories={})
    found = checks(sample)
    assert found["board"].state is CheckState.WARN
    assert found["implementation folder"].state is CheckState.WARN
    assert code(sample) == 0


def test_a_git_file_that_leads_nowhere(machine: IsolatedPath, tmp_path: Path) -> None:
    (tmp_path / "lost").mkdir()
    (tmp_path / "lost" / ".git").write_text("gitdir: /nowhere/at/all\n")
    ran = run_bmad("doctor", cwd=tmp_path / "lost")
    assert ran.code == 4
    assert "FAIL  project" in ran.out
    assert "ok    git" in ran.out
    assert "Traceback" not in ran.err


def test_a_folder_that_is_not_there(machine: IsolatedPath, tmp_path: Path) -> None:
    ran = run_bmad("-C", str(tmp_path / "no"), "doctor", cwd=tmp_path)
    assert (ran.code, ran.out) == (4, "")
    assert "no such folder" in ran.err


def test_bmads_own_settings_broken(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    sample.write("_bmad/config.toml", "[core\n")
    sample.write("_bmad/_config/manifest.yaml", "installation: [\n")
    broken = [check for check in checks(sample).values() if check.state in (CheckState.WARN, CheckState.FAIL)]
    assert any("_bmad/" in check.found for check in broken)


# BMAD


def test_without_bmad_the_fix_is_the_exact_command(machine: IsolatedPath, tmp_path: Path) -> None:
    folder = tmp_path / "an empty one"
    folder.mkdir()
    check = checks(folder)["BMAD"]
    assert check.state is CheckState.FAIL
    assert fix(check) == (
        f"npx bmad-method install --directory '{folder}' --modules bmm --tools claude-code --user-name YOU --yes"
    )


def test_skills_that_come_with_shims_only(machine: IsolatedPath, project: ProjectMaker) -> None:
    machine.add("uv", "echo uv 0.13.7")
    sample = project(era="build")
    sample.write("bmad-autopilot.toml", 'workflow = "lean"\n')
    check = checks(sample)["skill dev-story"]
    assert check.state is CheckState.FAIL
    assert fix(check).splitlines() == [
        f"npx bmad-method install --directory {sample.root} --shims --yes",
        'or: workflow = "build" in bmad-autopilot.toml',
    ]


def test_the_build_era_needs_uv(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project(era="build")
    assert checks(sample)["uv"].state is CheckState.FAIL
    machine.add("uv", "echo uv 0.13.7")
    found = checks(sample)
    assert found["uv"] == DoctorCheck("uv", CheckState.OK, "uv 0.13.7")
    assert found["skill build-auto"].found == "claude: /bmad-build-auto"


def test_the_classic_era_does_not_ask_for_uv(machine: IsolatedPath, project: ProjectMaker) -> None:
    assert "uv" not in checks(project())


# state


def test_committed_state_files_are_found_and_the_fix_removes_them(
    machine: IsolatedPath, project: ProjectMaker
) -> None:
    sample = project()
    for path in (
        "_bmad-output/.runs/main/x/state.json",
        "deep/down/.run-epic-state.json",
        "_bmad-output/implementation-artifacts/1-2-sign-in.agent-state.json",
        "_bmad-output/implementation-artifacts/1-2-sign-in.review.json",
        ".autopilot/state.json",
        ".claude/.bmad-running/x",
    ):
        sample.write(path, "{}")
    sample.write(".autopilot/config", "MAX_TURNS=80\n")
    sample.commit()
    check = checks(sample)["state files"]
    assert check.state is CheckState.WARN
    assert check.found.startswith("6 committed")
    command = fix(check).removesuffix(" && bmad init")
    subprocess.run(["/bin/sh", "-c", command], cwd=sample.root, check=True, stdout=subprocess.DEVNULL)
    assert checks(sample)["state files"].state is CheckState.OK
    assert sample.git("ls-files", ".autopilot") == ".autopilot/config\n"


def test_files_with_similar_names_are_not_state(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    sample.write("docs/review.json.md", "x")
    sample.write("x.run-epic-state.json", "x")
    sample.commit()
    assert checks(sample)["state files"].state is CheckState.OK


def test_ignored_skills_are_noted(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project(with_git=False)
    sample.write(".gitignore", ".claude/\n_bmad\n")
    sample.git("init", "--quiet")
    sample.commit()
    check = checks(sample)["worktrees"]
    assert check.state is CheckState.NOTE
    assert ".claude, _bmad" in check.found


def test_a_lock_that_is_held(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    state = sample.root / ".git" / "bmad-autopilot"
    state.mkdir()
    lock = state / "board.lock"
    assert not is_locked(str(lock))
    with hold_lock(str(lock)):
        check = checks(sample)["board lock"]
        assert check.state is CheckState.WARN
        assert str(lock) in fix(check)
    assert checks(sample)["board lock"].state is CheckState.OK


def test_a_half_written_board_is_found_only_when_nobody_writes(
    machine: IsolatedPath, project: ProjectMaker
) -> None:
    sample = project()
    left = sample.board.with_name(".sprint-status.yaml.4711.0a1b2c3d.tmp")
    left.write_text("half")
    sample.board.with_name(".sprint-status.yaml.notes.tmp").write_text("somebody's own")
    check = checks(sample)["temporary files"]
    assert check.state is CheckState.WARN
    assert check.fix is not None
    assert check.fix.endswith(f"diff {left} {sample.board}")  # it may hold an edit: never a plain rm
    (sample.root / ".git" / "bmad-autopilot").mkdir()
    with hold_lock(str(sample.root / ".git" / "bmad-autopilot" / "board.lock")):
        assert "temporary files" not in checks(sample)


def test_from_a_linked_worktree_the_owners_config_counts(
    machine: IsolatedPath, project: ProjectMaker, tmp_path: Path
) -> None:
    sample = project()
    sample.git("worktree", "add", "--quiet", "-b", "lane", str(tmp_path / "lane"))
    sample.write("bmad-autopilot.toml", 'agent = "codex"\n')
    found = checks(tmp_path / "lane")
    assert found["agent codex"].state is CheckState.FAIL
    assert found["repository"].found.endswith("lane on lane")


# the name


def test_npms_bmad_in_front_of_ours(machine: IsolatedPath, project: ProjectMaker, tmp_path: Path) -> None:
    script = tmp_path / "node_modules" / "bmad-method" / "tools" / "bmad-cli.js"
    script.parent.mkdir(parents=True)
    script.write_text("#!/usr/bin/env node\n")
    script.chmod(0o755)
    (tmp_path / "npm-bin").mkdir()
    (tmp_path / "npm-bin" / "bmad").symlink_to(script)
    sample = project()
    ran = run_bmad("doctor", cwd=sample.root, env={"PATH": f"{tmp_path}/npm-bin{os.pathsep}{machine.bin}"})
    assert "warn  name bmad" in ran.out
    assert "npm's bmad-method" in ran.out
    assert "call ours bmad-autopilot" in ran.out
    ran = run_bmad("doctor", cwd=sample.root, env={"PATH": f"{machine.bin}{os.pathsep}{tmp_path}/npm-bin"})
    assert "note  name bmad" in ran.out


def test_no_program_is_taken_from_the_project_itself(
    machine: IsolatedPath, project: ProjectMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = project()
    trap = sample.write("codex", f"#!/bin/sh\ntouch {sample.root}/sprung\necho 1.0\n")
    trap.chmod(0o755)
    monkeypatch.chdir(sample.root)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{machine.bin}")
    assert "agent codex" not in checks(sample)
    assert not (sample.root / "sprung").exists()


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("_bmad-output/initiative-x/tickets.toml", "the project is planned with BMAD 7"),
        (".claude/skills/bmad-ticket/SKILL.md", "the board is BMAD 6's, and BMAD 7's skills cannot read it"),
    ],
)
def test_bmad_7_is_a_failure_that_names_what_was_found(
    machine: IsolatedPath, project: ProjectMaker, path: str, says: str
) -> None:
    sample = project()
    sample.write(path, "")
    found = checks(sample)
    assert (found["BMAD"].state, found["BMAD"].found.startswith(f"{path}: {says}")) == (CheckState.FAIL, True)
    assert "skill dev-story" not in found
    assert code(sample) == 1
    assert not any("npx bmad-method" in (check.fix or "") for check in found.values())
