"""The default permissions under the real Claude Code: what a developer needs runs, and what is ours does not."""

import pytest

from bmad_autopilot.agents.permissions import permissions_for
from bmad_autopilot.project.config import Commands
from tests.real.claude_server import Say, serve
from tests.real.test_claude import Bench, bash, bench, program

pytestmark = pytest.mark.real

__all__ = ["bench", "program"]

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
