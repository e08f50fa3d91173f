"""Copilot CLI itself, against a scripted API: it works under our permissions, and its ends are told apart."""

from pathlib import Path
from uuid import uuid4

import pytest

from bmad_autopilot.agents.adapter import AgentRequest, Outcome, Permissions, UsageLimit
from bmad_autopilot.agents.copilot import COPILOT
from bmad_autopilot.agents.permissions import permissions_for
from bmad_autopilot.project.config import Commands
from tests.real import clients
from tests.real.attempts import Attempt, attempt, offline_environment
from tests.real.benches import ClientBench
from tests.real.claude_server import Refuse, Reply, Say, Server, Use, serve

pytestmark = pytest.mark.real


def allowed(worktree: Path) -> Permissions:
    """What a run would allow here."""
    commands = Commands(test=("npm run test", "make check"))
    return permissions_for(commands, allow=(), bypass=False, is_root=False, checkout=str(worktree))


@pytest.fixture(scope="module")
def program(real: Path) -> Path:
    return clients.install(real, clients.COPILOT, "copilot")


class Bench(ClientBench):
    """A project with a skill, and Copilot with a home and a provider of its own."""

    def attempt(self, server: Server, **more: object) -> Attempt:
        environment = offline_environment(
            self.folder / "home",
            COPILOT_HOME=str(self.folder / "copilot"),
            COPILOT_OFFLINE="true",
            COPILOT_PROVIDER_BASE_URL=server.url,
            COPILOT_PROVIDER_TYPE="anthropic",
            COPILOT_PROVIDER_API_KEY="dummy-key-1234",  # a short one would be cut out of every event
            COPILOT_MODEL="claude-sonnet-4.5",
        )
        asked = AgentRequest("Go on.", str(uuid4()), str(self.worktree), permissions=allowed(self.worktree))
        asked = asked._replace(**more)  # type: ignore[arg-type]
        return attempt(COPILOT, asked, self.program, environment, self.next_folder())


@pytest.fixture
def bench(program: Path, tmp_path: Path) -> Bench:
    made = Bench(program, tmp_path)
    skill = made.worktree / ".claude" / "skills" / "bmad-dev-story" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: bmad-dev-story\ndescription: Develop a story\n---\nFollow the steps.\n")
    (made.worktree / "package.json").write_text('{"scripts": {"test": "echo all tests pass"}}')
    (made.worktree / "Makefile").write_text("check:\n\t@echo all is well\n")
    made.git("init", "-q")
    made.git("add", "-A")
    made.git("commit", "-qm", "first")
    return made


def run(command: str) -> Use:
    return Use("bash", {"command": command, "description": "a command", "mode": "sync"})


def test_it_edits_tests_commits_and_is_resumed(bench: Bench) -> None:
    session = str(uuid4())
    script: list[Reply] = [
        Use("create", {"path": str(bench.worktree / "a.txt"), "file_text": "one\n"}),
        run("cd . && git branch --show-current && npm run test && make check"),
        run("git add -A && git commit -qm second"),
        Say("All done."),
    ]
    with serve(*script) as server:
        made = bench.attempt(server, session=session, prompt="Use the skill bmad-dev-story: 1-1")
        assert "1-1" in str(server.requests[0]["messages"])
    first = made.verdict
    assert (first.outcome, first.session, first.closing) == (Outcome.COMPLETED, session, "All done.")
    assert bench.git("show", "HEAD:a.txt") == "one"
    (loaded,) = made.all("session.skills_loaded")
    assert "bmad-dev-story" in [skill["name"] for skill in loaded["data"]["skills"]]
    with serve(Say("Second.")) as server:
        second = bench.attempt(server, resume=session).verdict
        assert "1-1" in str(server.requests[0]["messages"])
    assert (second.outcome, second.session) == (Outcome.COMPLETED, session)


def test_what_is_not_allowed_does_not_run_and_is_told(bench: Bench) -> None:
    with serve(run("git push origin main"), run("git checkout -q -b other"), Say("I could not.")) as server:
        made = bench.attempt(server)
    assert made.verdict.outcome is Outcome.PERMISSION_DENIED
    assert made.verdict.denials == ("bash  git push origin main", "bash  git checkout -q -b other")
    assert bench.git("branch", "--list", "other") == ""


def test_a_bypass_runs_what_is_not_denied(bench: Bench) -> None:
    with serve(run("touch b.txt"), run("git push origin main"), Say("Done.")) as server:
        made = bench.attempt(server, permissions=Permissions(denied=("git push",), bypass=True))
    assert made.verdict.denials == ("bash  git push origin main",)
    assert (bench.worktree / "b.txt").exists()


def test_a_refusal_is_told_apart(bench: Bench) -> None:
    with serve(Refuse(401, "authentication_error")) as server:
        assert bench.attempt(server).verdict.outcome is Outcome.AUTH
    with serve(Refuse(429, "rate_limit_error", headers={"retry-after": "1"})) as server:
        limited = bench.attempt(server).verdict
    assert (limited.outcome, limited.limit) == (Outcome.LIMIT, UsageLimit("rate_limit"))


def test_a_conversation_it_does_not_know(bench: Bench) -> None:
    with serve(Say("unheard")) as server:
        verdict = bench.attempt(server, resume=str(uuid4())).verdict
    assert verdict.outcome is Outcome.CRASHED
    assert "No session" in verdict.message
