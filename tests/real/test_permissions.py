"""The default permissions under the real Claude Code: what a developer needs runs, and what is ours does not."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bmad_autopilot.agents.permissions import permissions_for
from bmad_autopilot.project.config import Commands
from bmad_autopilot.project.skills import find_skills
from tests.agents.test_permissions import may
from tests.real.claude_server import Say, serve
from tests.real.conftest import BmadMethod
from tests.real.test_claude import Bench, bash, bench, program

pytestmark = pytest.mark.real

__all__ = ["bench", "program"]

DRIVEN = ("create-story", "dev-story", "code-review", "build-auto", "dev-auto", "retrospective", "sprint-planning")
_SCRIPTS = re.compile(r"(?:uv run|python3?)(?: --no-cache)? \"?\{(?:project|skill)-root\}[^\s`\"]+")
_GIT = re.compile(r"`(git [a-z-]+(?: --[a-z-]+)*)")

SCRIPT = "print('said by a script')\n"

WORK = (
    "git status --porcelain",
    "git diff HEAD > x.diff",
    "git diff --no-index /dev/null a.txt | head -3",
    "git log --oneline -3 && git rev-parse HEAD",
    "CI=1 npm test",
    "npm test 2>&1 | tail -5",
    "cd sub && npm run lint -- --fix",
    "mkdir -p src/deep && touch src/deep/a.txt",
    "rm src/deep/a.txt",
    "git add -A && git commit -q -m 'Work: one (two)'",
    "git commit --allow-empty -m \"$(cat <<'EOF'\nTwo lines\n\nof message\nEOF\n)\"",
    "git restore a.txt",
    "wc -l a.txt",
    "date +%Y-%m-%d",
    "find . -name '*.txt' -not -path './.git/*'",
    "python3 {}/_bmad/scripts/resolve.py --key workflow",
    "python3 _bmad/scripts/resolve.py --key workflow",
    'python3 "{}/_bmad/scripts/resolve.py" --key workflow',
    "python3 {}/.claude/skills/bmad-dev-story/scripts/plan.py --file x",
    "node -e 'console.log(1)'",
)
OURS = (
    "git push origin HEAD",
    "git -c user.name=x push",
    "git status && git push",
    "gh pr create",
    "git config user.name x",
    "git remote -v",
    "npm publish",
    "git reset --hard HEAD~1",
    "git checkout other",
    "curl http://127.0.0.1:9/",
    "sudo ls",
    "git status $(gh auth token)",
)


@pytest.fixture
def project(bench: Bench) -> Bench:
    bench.write("_bmad/scripts/resolve.py", SCRIPT)
    bench.write(".claude/skills/bmad-dev-story/scripts/plan.py", SCRIPT)
    bench.write("sub/package.json", '{"scripts": {"lint": "echo linted"}}')
    bench.git("add", "-A")
    bench.git("commit", "-qm", "second")
    return bench


def refused(project: Bench, commands: tuple[str, ...]) -> list[str]:
    permissions = permissions_for(
        Commands(test=("npm test",)), allow=(), bypass=False, is_root=True, checkout=str(project.worktree)
    )
    script = [bash(command.replace("{}", str(project.worktree))) for command in commands]
    with serve(*script, Say("All of it was tried.")) as server:
        done = project.attempt(server, project.request(permissions=permissions))
    assert done.verdict.closing == "All of it was tried."
    return list(done.verdict.denials)


def test_what_a_developer_runs_is_allowed(project: Bench) -> None:
    assert refused(project, WORK) == []


def test_what_is_ours_is_refused(project: Bench) -> None:
    denials = refused(project, OURS)
    assert len(denials) == len(OURS), denials


def told(project: Path, skill: str) -> Iterator[str]:
    """Every command a skill's files tell the agent to run, as it would type it."""
    folder = Path(skill).parent
    if folder.name == "commands":  # until 6.0 a command points to a workflow elsewhere
        folder = next((project / "_bmad").rglob(Path(skill).stem.removeprefix("bmad-bmm-")))
    for file in sorted(folder.rglob("*")):
        if file.suffix in (".md", ".xml", ".toml", ".yaml"):
            text = file.read_text()
            for command in _SCRIPTS.findall(text):
                yield command.replace("{project-root}", str(project)).replace("{skill-root}", str(folder))
            yield from _GIT.findall(text)


@pytest.mark.parametrize(("version", "least"), [("6.0.4", 3), ("6.2.0", 2), ("6.10.0", 7), ("6.12.0", 10)])
def test_what_bmads_skills_tell_an_agent_to_run_is_allowed(
    bmad_method: BmadMethod, version: str, least: int
) -> None:
    options = ("--shims",) if version == "6.12.0" else ("--output-folder", "_bmad-output")
    installed = bmad_method(version, "--tools", "claude-code", *options)
    skills = find_skills(str(installed), "claude", None)
    permissions = permissions_for(Commands(), allow=(), bypass=False, is_root=True, checkout=str(installed))
    commands = {command for name in DRIVEN if name in skills for command in told(installed, skills[name].path)}
    assert len(commands) >= least
    assert [command for command in sorted(commands) if not may(permissions, command.replace('"', ""))] == []
