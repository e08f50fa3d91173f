"""Gemini CLI itself, against a scripted API: it works under our permissions, and its ends are told apart."""

from pathlib import Path
from uuid import uuid4

import pytest

from bmad_autopilot.agents.adapter import AgentRequest, Outcome, Permissions, Spend, Tokens
from bmad_autopilot.agents.gemini import GEMINI
from bmad_autopilot.agents.permissions import permissions_for
from bmad_autopilot.project.config import Commands
from tests.real import clients
from tests.real.attempts import Attempt, attempt, offline_environment
from tests.real.benches import ClientBench
from tests.real.gemini_server import Refuse, Reply, Say, Server, Use, configure, serve

pytestmark = pytest.mark.real

# Its shell sees neither the user's nor the system's git configuration: who commits must be in the environment.
IDENTITY = {
    f"GIT_{who}_{what}": "agent@localhost" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def allowed(worktree: Path) -> Permissions:
    """What a run would allow here."""
    commands = Commands(test=("npm test",))
    return permissions_for(commands, allow=(), bypass=False, is_root=False, checkout=str(worktree))


@pytest.fixture(scope="module")
def program(real: Path) -> Path:
    return clients.install(real, clients.GEMINI, "gemini")


class Bench(ClientBench):
    """A project, and Gemini with a home of its own."""

    def attempt(self, server: Server, before: Spend | None = None, **more: object) -> Attempt:
        home = self.folder / "home"
        configure(home)
        environment = offline_environment(
            home, GOOGLE_GEMINI_BASE_URL=server.url, GEMINI_API_KEY="dummy-key-1234", **IDENTITY
        )
        asked = AgentRequest(
            "Go on.", str(uuid4()), str(self.worktree), model="gemini-2.5-pro", permissions=allowed(self.worktree)
        )
        asked = asked._replace(**more)  # type: ignore[arg-type]
        folder = self.next_folder()
        return attempt(GEMINI, asked, self.program, environment, folder, before=before)


@pytest.fixture
def bench(program: Path, tmp_path: Path) -> Bench:
    made = Bench(program, tmp_path)
    made.worktree.mkdir()
    made.git("init", "-q")
    made.git("commit", "-q", "--allow-empty", "-m", "first")
    return made


def run(command: str) -> Use:
    return Use("run_shell_command", {"command": command})


def test_it_edits_commits_and_is_resumed(bench: Bench) -> None:
    session = str(uuid4())
    script: list[Reply] = [
        Use("write_file", {"file_path": str(bench.worktree / "a.txt"), "content": "one\n"}),
        run("cd . && git add -A && git commit -qm second"),
        Say("All done."),
    ]
    with serve(*script) as server:
        first = bench.attempt(server, session=session, prompt="Do story 1-1.").verdict
        assert "Do story 1-1." in str(server.requests[0]["contents"])
    assert (first.outcome, first.session, first.closing) == (Outcome.COMPLETED, session, "All done.")
    assert first.spend.tokens == Tokens(180, 30, 120, 0)
    assert bench.git("show", "HEAD:a.txt") == "one"
    with serve(Say("Second.")) as server:
        second = bench.attempt(server, first.session_spend, resume=session).verdict
        assert "Do story 1-1." in str(server.requests[0]["contents"])
    assert (second.outcome, second.session) == (Outcome.COMPLETED, session)
    assert (second.spend.tokens, second.session_spend.tokens) == (Tokens(60, 10, 40, 0), Tokens(240, 40, 160, 0))


def test_what_is_not_allowed_does_not_run_and_is_told(bench: Bench) -> None:
    with serve(run("git push origin main"), run("git add -A && rm -f b.txt"), Say("I could not.")) as server:
        made = bench.attempt(server)
    assert made.verdict.outcome is Outcome.PERMISSION_DENIED
    assert made.verdict.denials == (
        "run_shell_command  git push origin main",
        "run_shell_command  git add -A && rm -f b.txt",
    )


def test_a_bypass_runs_everything(bench: Bench) -> None:
    with serve(run("touch b.txt"), Say("Done.")) as server:
        assert bench.attempt(server, permissions=Permissions(bypass=True)).verdict.outcome is Outcome.COMPLETED
    assert (bench.worktree / "b.txt").exists()


@pytest.mark.parametrize(
    ("status", "kind", "code", "outcome"),
    [
        (401, "UNAUTHENTICATED", 145, Outcome.AUTH),
        (403, "PERMISSION_DENIED", 147, Outcome.AUTH),
        (400, "INVALID_ARGUMENT", 144, Outcome.CRASHED),
    ],
)
def test_its_exit_code_is_the_status(bench: Bench, status: int, kind: str, code: int, outcome: Outcome) -> None:
    with serve(Refuse(status, kind)) as server:
        made = bench.attempt(server)
    assert (made.result.exit, made.verdict.outcome) == (code, outcome)
    assert "scripted" in made.verdict.message


def test_a_conversation_it_does_not_know(bench: Bench) -> None:
    with serve(Say("unheard")) as server:
        made = bench.attempt(server, resume=str(uuid4()))
    assert (made.result.exit, made.verdict.outcome) == (42, Outcome.CRASHED)
    assert made.verdict.message.startswith("Error resuming session")
