"""What an agent may run: the project's own work, and nothing that is ours to do."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.adapter import Permissions
from bmad_autopilot.agents.command_rules import covers, normalize_commands
from bmad_autopilot.agents.permissions import (
    DENIED_COMMANDS,
    GIT_COMMANDS,
    PROGRAMS_BY_FILE,
    READ_COMMANDS,
    command_prefixes,
    permissions_for,
)
from bmad_autopilot.core.errors import UsageError
from bmad_autopilot.project.commands import detect_commands
from bmad_autopilot.project.config import Commands


def permitted(checkout: Path, commands: Commands | None = None, *allow: str) -> Permissions:
    return permissions_for(
        commands or detect_commands(str(checkout)), allow=allow, bypass=False, is_root=True, checkout=str(checkout)
    )


def may(permissions: Permissions, command: str) -> bool:
    """As every client judges one simple command: a denial wins."""
    if any(covers(prefix, command) for prefix in permissions.denied):
        return False
    return any(covers(prefix, command) for prefix in permissions.commands)


@pytest.mark.parametrize(
    ("command", "prefixes"),
    [
        ("npm ci", ["npm ci"]),
        ("npm ci && npm run build", ["npm ci", "npm run build"]),
        ("npm run lint -- --max-warnings 0", ["npm run lint"]),
        ("CI=1 npm test", ["npm test"]),
        ("env CI=1 npm test", ["npm test"]),
        ("cd web && pnpm --filter web test", ["pnpm --filter web test"]),
        ("cargo check --all-targets", ["cargo check"]),
        ("go test ./...", ["go test"]),
        ("./gradlew check -x test", ["./gradlew check"]),
        ("mvn --batch-mode test", ["mvn --batch-mode test"]),
        (".venv/bin/pytest -q tests", [".venv/bin/pytest"]),
        ("python -m pytest -q", ["python -m pytest"]),
        ("python3 scripts/check.py --all", ["python3 scripts/check.py"]),
        ("uv run pytest -x", ["uv run pytest"]),
        ("bundle exec rubocop", ["bundle exec rubocop"]),
        ("make lint test", ["make lint"]),
        ("pytest 'tests/a b'; mypy .", ["pytest", "mypy"]),
        ("npm test | tee log || true", ["npm test", "tee", "true"]),
        ("npm test > out.txt 2>&1", ["npm test"]),
        ("(cd web; npm test) & wait", ["npm test", "wait"]),
        ("docker compose run web pytest", ["docker compose run"]),
        ("timeout 60 npm test", ["npm test"]),
        ("time cargo test", ["cargo test"]),
        ("git ls-files '*.sh' | xargs shellcheck -x", ["git ls-files", "xargs shellcheck"]),
        ("python3.12 -m pytest", ["python3.12 -m pytest"]),
        # What says too little, or too much:
        ("bash -c 'npm test'", []),
        ("python -c 'print(1)'", []),
        ("python", []),
        ("python3.12 -c 'print(1)'", []),
        ("timeout -k 5 60 npm test", []),
        ("xargs -n1 rm", []),
        ("dotenv -- npm test", []),
        ("sudo make install", []),
        ("git push origin main", []),
        ("npm publish", []),
        ("gh pr create", []),
        ("$(cat command)", ["cat"]),
        ("npm run 'a(b)'", []),
        ("npm 'unclosed", []),
        ("", []),
        ("&& ||", []),
    ],
)
def test_a_command_line_becomes_prefixes(command: str, prefixes: list[str]) -> None:
    assert command_prefixes(command) == prefixes


def test_a_developer_can_work(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"scripts": {"test": "vitest", "lint": "eslint ."}}')
    (tmp_path / "package-lock.json").write_text("{}")
    permissions = permitted(tmp_path)
    for command in (
        "git status --porcelain",
        "git diff --cached --name-only",
        "git --no-pager log -3",
        f"git -C {tmp_path} status",
        "git add --refresh -- .",
        "git commit -m x",
        "git checkout -- src/a.ts",
        "git rev-parse HEAD",
        "npm run lint -- --fix",
        "npm install zod",
        "npm test",
        "npx vitest run",
        "node scripts/x.js",
        "ls -la",
        "wc -l x",
        "mkdir -p src/new",
        "date +%F",
    ):
        assert may(permissions, command), command
    for command in ("pnpm install", "cargo build", "python3 x.py"):
        assert not may(permissions, command), command


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "git push --force origin main",
        "git fetch",
        "git remote add x y",
        "git config user.name x",
        "git reset --hard HEAD~1",
        "git checkout main",
        "git switch main",
        "git worktree add ../x",
        "git update-ref refs/heads/main x",
        "git stash",
        "git clean -fdx",
        "git -c alias.x=push x",
        "gh pr merge",
        "npm publish",
        "npm login",
        "pnpm publish",
        "cargo publish",
        "uv publish",
        "poetry publish",
        "sudo ls",
        "ssh host",
        "curl http://x",
        "bash -c 'git push'",
        "env git push",
        "xargs git push",
    ],
)
def test_what_is_ours_stays_ours(tmp_path: Path, command: str) -> None:
    for files in PROGRAMS_BY_FILE:
        (tmp_path / files.split()[0].replace("*", "x")).write_text("")
    assert not may(permitted(tmp_path, Commands()), command)


@pytest.mark.parametrize("files", PROGRAMS_BY_FILE)
def test_a_languages_file_brings_its_tools(tmp_path: Path, files: str) -> None:
    for file in files.split():
        folder = tmp_path / file.replace("*", "x")
        folder.mkdir()
        (folder / file.replace("*", "x")).write_text("")
        assert set(PROGRAMS_BY_FILE[files].split()) <= set(permitted(folder, Commands()).commands)
    assert not set(PROGRAMS_BY_FILE[files].split()) & set(permitted(tmp_path / "none", Commands()).commands)


@pytest.mark.parametrize("runner", ["python3", "uv run", "uv run --no-cache"])
def test_the_scripts_of_bmads_skills_may_run(tmp_path: Path, runner: str) -> None:
    for script in (
        "_bmad/scripts/resolve_config.py",
        ".claude/skills/bmad-retrospective/scripts/sprint_status.py",
    ):
        path = tmp_path / script
        path.parent.mkdir(parents=True)
        path.write_text("")
        permissions = permitted(tmp_path, Commands())
        assert may(permissions, f"{runner} {path} --key workflow")
        assert may(permissions, f"{runner} {script} --key workflow")
    assert not may(permissions, f"{runner} other.py")


def test_scripts_of_other_skills_are_not_bmads(tmp_path: Path) -> None:
    path = tmp_path / ".claude/skills/other/scripts/x.py"
    path.parent.mkdir(parents=True)
    path.write_text("")
    assert not may(permitted(tmp_path, Commands()), f"python3 {path}")


def test_a_folder_with_odd_letters_gives_no_odd_rule(tmp_path: Path) -> None:
    odd = tmp_path / "a (b), c*"
    script = odd / "_bmad/scripts/x.py"
    script.parent.mkdir(parents=True)
    script.write_text("")
    permissions = permitted(odd, Commands())
    assert normalize_commands("any client", permissions.commands) == list(permissions.commands)
    assert may(permissions, "python3 _bmad/scripts/x.py")


def test_the_users_rules_are_handed_on_as_they_are(tmp_path: Path) -> None:
    assert permitted(tmp_path, None, "Bash(terraform plan:*)").rules == ("Bash(terraform plan:*)",)


def test_everything_is_refused_to_root_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="root") as caught:
        permissions_for(Commands(), allow=(), bypass=True, is_root=True, checkout=str(tmp_path))
    assert "another user" in str(caught.value)
    permissions = permissions_for(Commands(), allow=(), bypass=True, is_root=False, checkout=str(tmp_path))
    assert permissions.bypass
    assert "git push" in permissions.denied


def test_the_lists_hold_plain_prefixes_without_doubles() -> None:
    for prefixes in (GIT_COMMANDS, READ_COMMANDS, DENIED_COMMANDS):
        assert normalize_commands("any client", prefixes) == list(prefixes)


@given(
    st.text(st.sampled_from("npm run test git push && || ; | ( ) ' \" $ ` \\ > < & * , ./x -c \n"), max_size=80)
)
def test_any_command_line_gives_plain_prefixes(command: str) -> None:
    for prefix in command_prefixes(command):
        assert normalize_commands("any client", [prefix]) == [prefix]
        assert not any(covers(denied, prefix) for denied in DENIED_COMMANDS)


@pytest.mark.parametrize("denied", DENIED_COMMANDS)
def test_no_line_of_the_projects_opens_what_is_denied(denied: str) -> None:
    """Nor anything wider, such as the whole of git."""
    for line in (denied, f"{denied} x", f"true && {denied} --now"):
        assert not any(covers(prefix, denied) for prefix in command_prefixes(line))
