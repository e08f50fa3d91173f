"""opencode itself, against a scripted API: it works under our permissions, and its ends are told apart."""

from pathlib import Path

import pytest

from bmad_autopilot.agents.adapter import AgentRequest, Outcome, Permissions, Spend, Tokens
from bmad_autopilot.agents.opencode import OPENCODE
from bmad_autopilot.agents.permissions import permissions_for
from bmad_autopilot.project.config import Commands
from tests.real import clients
from tests.real.attempts import Attempt, attempt, offline_environment
from tests.real.benches import ClientBench
from tests.real.claude_server import Refuse, Reply, Say, Server, Use, serve
from tests.real.opencode_server import QUIET, configure

pytestmark = pytest.mark.real

SKILL = "---\nname: bmad-dev-story\ndescription: Develop a story\n---\nFollow the steps of story [$ARGUMENTS].\n"


def allowed(worktree: Path) -> Permissions:
    """What a run would allow here."""
    commands = Commands(test=("npm test",))
    return permissions_for(commands, allow=(), bypass=False, is_root=False, checkout=str(worktree))


@pytest.fixture(scope="module")
def program(real: Path) -> Path:
    return clients.install(real, clients.OPENCODE, "opencode")


class Bench(ClientBench):
    """A project with a skill, and opencode with a home of its own. It takes some five seconds to start."""

    def attempt(
        self, server: Server, prompt: str = "Go on.", before: Spend | None = None, **more: object
    ) -> Attempt:
        home = self.folder / "home"
        configure(home, server)
        asked = AgentRequest(prompt, "not used", str(self.worktree), permissions=allowed(self.worktree))
        asked = asked._replace(**more)  # type: ignore[arg-type]
        folder = self.next_folder()
        return attempt(OPENCODE, asked, self.program, offline_environment(home, **QUIET), folder, before=before)


@pytest.fixture
def bench(program: Path, tmp_path: Path) -> Bench:
    made = Bench(program, tmp_path)
    made.worktree.mkdir()
    made.git("init", "-q")
    made.write("a.txt", "one\n")
    made.write(".claude/skills/bmad-dev-story/SKILL.md", SKILL)
    made.git("add", "-A")
    made.git("commit", "-qm", "first")
    return made


def run(command: str) -> Use:
    return Use("bash", {"command": command, "description": "a command"})


def test_it_edits_commits_and_is_resumed_and_the_skill_expands(bench: Bench) -> None:
    file = bench.write("b.txt", "one\n")
    script: list[Reply] = [
        Use("read", {"filePath": file}),
        Use("edit", {"filePath": file, "oldString": "one", "newString": "two"}),
        run("cd . && git add -A && git commit -qm second"),
        Say("All done."),
    ]
    with serve(*script) as server:
        made = bench.attempt(server, '--command bmad-dev-story 1-1\n\nThe "contract" --auto $HOME')
    first = made.verdict
    assert first.outcome is Outcome.COMPLETED
    assert first.closing == "All done."
    assert first.spend.dollars == pytest.approx(4 * 0.0045)
    assert first.spend.tokens == Tokens(4000, 400, 0, 0)
    assert bench.git("log", "-1", "--format=%s") == "second"
    assert bench.git("show", "HEAD:b.txt") == "two"
    asked = str(server.requests[0]["messages"])
    assert "Follow the steps of story [1-1" in asked
    assert 'The "contract" --auto $HOME]' in asked
    assert "bash  cd . && git add -A && git commit -qm second" in [
        line for event in made.events for line in OPENCODE.format_event(event)
    ]

    with serve(Say("Second.")) as server:
        second = bench.attempt(server, "And now?", before=first.session_spend, resume=first.session).verdict
        assert "All done." in str(server.requests[0]["messages"])
    assert (second.outcome, second.session) == (Outcome.COMPLETED, first.session)
    assert second.spend.tokens == Tokens(1000, 100, 0, 0)
    assert second.session_spend.tokens == Tokens(5000, 500, 0, 0)


def test_what_is_not_allowed_does_not_run_and_the_turn_goes_on(bench: Bench) -> None:
    outside = bench.folder / "outside.txt"
    script: list[Reply] = [
        run("git push origin main"),
        run("git commit --allow-empty -qm second; rm a.txt"),
        Use("write", {"filePath": str(outside), "content": "x"}),
        Say("I could not."),
    ]
    with serve(*script) as server:
        made = bench.attempt(server)
    assert made.verdict.outcome is Outcome.COMPLETED
    assert [use["part"]["state"]["status"] for use in made.all("tool_use")] == ["error"] * 3
    assert bench.git("log", "-1", "--format=%s") == "first"
    assert (bench.worktree / "a.txt").exists()
    assert not outside.exists()


def test_a_question_that_nobody_answers_is_a_denial(bench: Bench) -> None:
    asks = Permissions(rules=('{"bash": {"touch *": "ask"}}',))
    with serve(run("touch b.txt"), Say("unheard")) as server:
        made = bench.attempt(server, permissions=asks)
    assert (made.result.by, made.result.exit) == ("exit", 0)
    assert made.verdict.outcome is Outcome.PERMISSION_DENIED
    assert made.verdict.denials == ("bash  touch b.txt",)


def test_a_bypass_runs_what_is_not_denied(bench: Bench) -> None:
    with serve(run("touch b.txt"), run("git push origin main"), Say("Done.")) as server:
        made = bench.attempt(server, permissions=Permissions(denied=("git push",), bypass=True))
    assert made.verdict.outcome is Outcome.COMPLETED
    assert [use["part"]["state"]["status"] for use in made.all("tool_use")] == ["completed", "error"]
    assert (bench.worktree / "b.txt").exists()


def test_a_refusal_is_told_apart_by_its_status(bench: Bench) -> None:
    with serve(Refuse(401, "authentication_error")) as server:
        made = bench.attempt(server)
    assert (made.result.exit, made.verdict.outcome) == (1, Outcome.AUTH)


def test_a_limit_says_when_it_opens(bench: Bench) -> None:
    with serve(Refuse(429, "rate_limit_error", headers={"retry-after": "1"})) as server:
        made = bench.attempt(server)
    assert made.verdict.outcome is Outcome.LIMIT
    assert made.verdict.limit is not None
    assert made.verdict.limit.resets_at is not None
    assert abs(made.verdict.limit.resets_at - made.result.ended_at) < 30


def test_a_skill_or_conversation_it_does_not_have(bench: Bench) -> None:
    with serve(Say("unheard")) as server:
        unknown = bench.attempt(server, "--command bmad-no-such-thing 1-1").verdict
        lost = bench.attempt(server, resume="ses_000000000000000000000000").verdict
        assert not server.requests
    assert unknown.outcome is lost.outcome is Outcome.CRASHED
    assert "Session not found" in lost.message
