"""Codex itself, against a scripted API: it works under our sandbox, and every end is told apart."""

import time
from pathlib import Path

import pytest

from bmad_autopilot.agents.adapter import (
    AgentRequest,
    AttemptVerdict,
    Outcome,
    Permissions,
    Spend,
    Tokens,
    UsageLimit,
)
from bmad_autopilot.agents.codex import CODEX, append_session_log
from bmad_autopilot.agents.start import TimeLimits
from tests.real import clients
from tests.real.attempts import LIMITS, Attempt, attempt, offline_environment
from tests.real.benches import ClientBench
from tests.real.codex_server import BreakOff, Refuse, Reply, Run, Say, Server, configure, serve

pytestmark = pytest.mark.real

SKILL = "---\nname: bmad-dev-story\ndescription: Develop a story\n---\nFollow the steps of the story.\n"
PATCH = "apply_patch <<'END'\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\nEND\n"
ONCE = Tokens(60, 10, 40, 0)  # what the server counts for one answer


@pytest.fixture(scope="module")
def program(real: Path) -> Path:
    return clients.install(real, clients.CODEX, "codex")


class Bench(ClientBench):
    """A project with a skill, and Codex with a home of its own."""

    def request(self, prompt: str = "Go on.", **more: object) -> AgentRequest:
        return AgentRequest(prompt, "not used", str(self.worktree))._replace(**more)  # type: ignore[arg-type]

    def attempt(
        self,
        server: Server,
        request: AgentRequest | None = None,
        *options: str,
        before: Spend | None = None,
        limits: TimeLimits = LIMITS,
    ) -> tuple[Attempt, AttemptVerdict]:
        """The attempt as Codex's events tell it, and its verdict with Codex's own record."""
        home = configure(self.folder / "codex", server)
        environment = offline_environment(
            self.folder / "home", CODEX_HOME=str(home), OPENAI_API_KEY="sk-dummy", SHELL="/bin/sh"
        )
        folder = self.next_folder()
        made = attempt(
            CODEX,
            request or self.request(),
            self.program,
            environment,
            folder,
            before=before,
            options=options,
            limits=limits,
        )
        events = append_session_log(made.events, made.result.started_at, environment)
        return made, CODEX.judge(events, made.result.ending, before or Spend())


@pytest.fixture
def bench(program: Path, tmp_path: Path) -> Bench:
    made = Bench(program, tmp_path)
    made.worktree.mkdir()
    made.git("init", "-q")
    made.write("a.txt", "one\n")
    made.write(".agents/skills/bmad-dev-story/SKILL.md", SKILL)
    made.git("add", "-A")
    made.git("commit", "-qm", "first")
    return made


def test_it_edits_and_runs_commands_and_the_skill_expands(bench: Bench) -> None:
    with serve(Run(PATCH), Run("cat a.txt > b.txt"), Run("git add -A"), Say("All done.")) as server:
        made, verdict = bench.attempt(server, bench.request("$bmad-dev-story 1-1\n\nThe contract."))
    assert verdict.outcome is made.verdict.outcome is Outcome.COMPLETED
    assert verdict.closing == "All done."
    assert verdict.spend.tokens == Tokens(240, 40, 160, 0)
    assert (bench.worktree / "b.txt").read_text() == "two\n"
    assert bench.git("diff", "--cached", "--name-only") == ""  # its sandbox keeps .git read-only: we commit
    assert server.saw("Follow the steps of the story.")
    assert server.saw("The contract.")
    shown = [line for event in made.events for line in CODEX.format_event(event)]
    # Whether a command that its sandbox stopped is in an event is a matter of chance.
    assert [line.partition("  ")[0] for line in shown[1:3]] == ["update", "command"]
    assert shown[-2] == "All done."


def test_its_sandbox_has_no_network_unless_a_rule_of_the_users_opens_it(bench: Bench) -> None:
    opened = Permissions(rules=("sandbox_workspace_write.network_access=true",))
    with serve(Say("unused")) as other:
        port = other.server_address[1]
        reach = f"python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5)' && touch "
        with serve(Run(f"{reach} closed"), Say("Done.")) as server:
            _, first = bench.attempt(server)
        with serve(Run(f"{reach} open"), Say("Done.")) as server:
            _, second = bench.attempt(server, bench.request(permissions=opened))
        with serve(Run(f"{reach} resumed"), Say("Done.")) as server:
            _, third = bench.attempt(server, bench.request(permissions=opened, resume=first.session))
    assert first.outcome is second.outcome is third.outcome is Outcome.COMPLETED
    assert {name for name in ("closed", "open", "resumed") if (bench.worktree / name).exists()} == {
        "open",
        "resumed",
    }


def test_a_bypass_may_commit(bench: Bench) -> None:
    with serve(Run("echo two > a.txt && git commit -qam second"), Say("All done.")) as server:
        _, verdict = bench.attempt(server, bench.request(permissions=Permissions(bypass=True)))
    assert verdict.outcome is Outcome.COMPLETED
    assert bench.git("log", "-1", "--format=%s") == "second"


def test_a_long_prompt_goes_in_whole(bench: Bench) -> None:
    with serve(Say("All done.")) as server:
        _, verdict = bench.attempt(server, bench.request("word " * 60_000 + "the very end"))
    assert verdict.outcome is Outcome.COMPLETED
    assert server.saw("the very end")


def test_a_resumed_conversation_goes_on_and_its_tokens_count_once(bench: Bench) -> None:
    with serve(Say("First.")) as server:
        _, first = bench.attempt(server, bench.request("Remember the word heron."))
    assert first.spend.tokens == ONCE
    assert first.session
    asked = bench.request("Which word?", resume=first.session)
    with serve(Run("echo > b.txt"), Say("Second.")) as server:
        made, second = bench.attempt(server, asked, before=first.session_spend)
        assert server.saw("heron")
    assert second.outcome is Outcome.COMPLETED
    assert second.session == first.session
    assert second.spend == made.verdict.spend == Spend(None, Tokens(120, 20, 80, 0))
    assert second.session_spend.tokens == Tokens(180, 30, 120, 0)
    assert (bench.worktree / "b.txt").exists()
    with serve(Refuse(401, "invalid_api_key")) as server:
        _, third = bench.attempt(server, asked, before=second.session_spend)
    assert third.outcome is Outcome.AUTH
    assert third.spend.tokens == Tokens()


FAILURES: list[tuple[Reply, Outcome]] = [
    (Refuse(401, "invalid_api_key"), Outcome.AUTH),
    (Refuse(403, "forbidden"), Outcome.AUTH),
    (Refuse(429, "rate_limit_exceeded"), Outcome.LIMIT),
    (Refuse(429, "insufficient_quota"), Outcome.LIMIT),
    (Refuse(500, "server_error"), Outcome.OVERLOADED),
    (Refuse(529, "overloaded"), Outcome.OVERLOADED),
    (Refuse(400, "invalid_request_error"), Outcome.CRASHED),
    (Refuse(404, "model_not_found"), Outcome.MISCONFIGURED),
    (BreakOff("context_length_exceeded"), Outcome.PROMPT_TOO_LONG),
    (BreakOff("server_is_overloaded"), Outcome.OVERLOADED),
]


@pytest.mark.parametrize(("reply", "outcome"), FAILURES, ids=[str(row[0]) for row in FAILURES])
def test_a_failure_is_told_apart_by_its_record_alone(bench: Bench, reply: Reply, outcome: Outcome) -> None:
    with serve(reply) as server:
        made, verdict = bench.attempt(server)
    assert (made.result.by, made.result.exit) == ("exit", 1)
    assert verdict.outcome is outcome
    assert verdict.message
    assert made.verdict.outcome in (Outcome.CRASHED, outcome)  # its events have nothing but a sentence


def test_a_usage_limit_says_when_it_resets(bench: Bench) -> None:
    resets_at = int(time.time()) + 3600
    used_up = {
        "x-codex-primary-used-percent": "100.0",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(resets_at),
    }
    with serve(Refuse(429, "usage_limit_reached", used_up)) as server:
        _, verdict = bench.attempt(server)
    assert (verdict.outcome, verdict.limit) == (Outcome.LIMIT, UsageLimit("primary", resets_at))


def test_a_limit_that_is_near_parks_nobody(bench: Bench) -> None:
    near = {
        "x-codex-primary-used-percent": "100.0",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(int(time.time()) + 3600),
    }
    with serve(Say("You've hit your usage limit.", near)) as server:
        _, verdict = bench.attempt(server)
    assert (verdict.outcome, verdict.limit) == (Outcome.COMPLETED, None)


def test_without_a_network_the_stall_limit_ends_it(bench: Bench) -> None:
    with serve(Say("unheard")) as server:
        pass  # nobody listens there any more
    _, verdict = bench.attempt(server, limits=TimeLimits(time=40, stall=5, grace=2))
    assert verdict.outcome is Outcome.STALLED
    assert "network" in verdict.message


def test_a_conversation_it_does_not_know(bench: Bench) -> None:
    with serve(Say("unheard")) as server:
        _, verdict = bench.attempt(server, bench.request(resume="01a1e1b5-0000-7862-8bba-985432cb1f0d"))
    assert verdict.outcome is Outcome.CRASHED
    assert "no rollout found" in verdict.message


def test_an_option_it_does_not_know(bench: Bench) -> None:
    with serve(Say("unheard")) as server:
        _, verdict = bench.attempt(server, None, "--no-such-option")
    assert verdict.outcome is Outcome.MISCONFIGURED
