"""Claude Code itself, against a scripted API: it works under our permissions, and every end is told apart."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from bmad_autopilot.agents.adapter import AgentRequest, Outcome, Permissions, Spend, UsageLimit
from bmad_autopilot.agents.claude import CLAUDE
from bmad_autopilot.agents.monitor import cancel_attempt
from bmad_autopilot.agents.permissions import permissions_for
from bmad_autopilot.agents.start import TimeLimits
from bmad_autopilot.project.config import Commands
from tests.real import clients
from tests.real.attempts import LIMITS, Attempt, agent_process, attempt, offline_environment, wait_for
from tests.real.benches import ClientBench
from tests.real.claude_server import Drop, Hang, Refuse, Reply, Say, Server, Use, serve
from tests.real.conftest import BmadMethod

pytestmark = pytest.mark.real

VERSION = clients.CLAUDE.rpartition("@")[2]
SKILL = "---\nname: bmad-dev-story\ndescription: Develop a story\n---\nDevelop story $ARGUMENTS, as {0} says.\n"
DEFAULT = Permissions(commands=("git add", "git commit", "npm test"), denied=("git push",))
ONCE = {"CLAUDE_CODE_MAX_RETRIES": "1"}
SUBSCRIPTION = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-dummy"}


@pytest.fixture(scope="module")
def program(real: Path) -> Path:
    return clients.install(real, clients.CLAUDE, "claude")


class Bench(ClientBench):
    """A project with a skill, and Claude Code with a home of its own."""

    def request(self, prompt: str = "Go on.", **more: object) -> AgentRequest:
        asked = AgentRequest(prompt, str(uuid4()), str(self.worktree), permissions=DEFAULT)
        return asked._replace(**more)  # type: ignore[arg-type]

    def attempt(
        self,
        server: Server,
        request: AgentRequest | None = None,
        *options: str,
        variables: dict[str, str] | None = None,
        before: Spend | None = None,
        limits: TimeLimits = LIMITS,
        meanwhile: Callable[[str], None] | None = None,
    ) -> Attempt:
        environment = offline_environment(
            self.folder / "home",
            ANTHROPIC_BASE_URL=server.url,
            ANTHROPIC_API_KEY="sk-ant-dummy",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_TELEMETRY="1",
            DISABLE_AUTOUPDATER="1",
            DISABLE_ERROR_REPORTING="1",
            CLAUDE_CODE_MAX_RETRIES="2",
        )
        environment = {name: value for name, value in {**environment, **(variables or {})}.items() if value}
        folder = self.next_folder()
        return attempt(
            CLAUDE,
            request or self.request(),
            self.program,
            environment,
            folder,
            before=before,
            options=options,
            limits=limits,
            meanwhile=meanwhile,
        )


@pytest.fixture
def bench(program: Path, tmp_path: Path) -> Bench:
    made = Bench(program, tmp_path)
    made.worktree.mkdir()
    made.git("init", "-q")
    made.write("a.txt", "one\n")
    made.write("package.json", '{"scripts": {"test": "echo all tests pass"}}')
    made.write(".claude/skills/bmad-dev-story/SKILL.md", SKILL.format("steps.md"))
    made.git("add", "-A")
    made.git("commit", "-qm", "first")
    return made


def bash(command: str, **more: object) -> Use:
    return Use("Bash", {"command": command, "description": "scripted", **more})


# -- work


def test_a_skill_expands_and_the_agent_edits_tests_and_commits_under_the_default_permissions(bench: Bench) -> None:
    script = (
        Use("Read", {"file_path": str(bench.worktree / "a.txt")}, text="I look first."),
        Use("Edit", {"file_path": str(bench.worktree / "a.txt"), "old_string": "one", "new_string": "two"}),
        Use("Write", {"file_path": str(bench.worktree / "src/b.txt"), "content": "new\n"}),
        bash("npm test 2>&1 | tail -5"),
        bash("git add -A && git commit -m \"$(cat <<'EOF'\nStory 1-1\n\nBy the book.\nEOF\n)\""),
        Say("Story 1-1 is done."),
    )
    request = bench.request("/bmad-dev-story 1-1\n\nHow to ask: write a file.", skill="bmad-dev-story")
    with serve(*script) as server:
        done = bench.attempt(server, request)
    asked = str(server.requests[0]["messages"])
    assert "Develop story 1-1" in asked
    assert "How to ask: write a file." in asked
    verdict = done.verdict
    assert (verdict.outcome, verdict.denials, done.result.exit) == (Outcome.COMPLETED, (), 0)
    assert (verdict.session, verdict.version, verdict.turns) == (request.session, VERSION, 6)
    assert verdict.closing == "Story 1-1 is done."
    assert verdict.spend.tokens.input == 6000
    assert verdict.spend.dollars == verdict.session_spend.dollars
    assert bench.git("log", "-1", "--format=%s") == "Story 1-1"
    assert bench.git("status", "--porcelain") == ""
    assert bench.git("show", "HEAD:src/b.txt") == "new"
    assert "all tests pass" in str(server.requests[4]["messages"])


def test_a_skill_of_the_users_reads_its_own_files(bench: Bench) -> None:
    skills = bench.folder / "home" / ".claude" / "skills"
    (skills / "bmad-create-story").mkdir(parents=True)
    (skills / "bmad-create-story" / "SKILL.md").write_text(SKILL.replace("dev-story", "create-story"))
    (skills / "bmad-create-story" / "steps.md").write_text("the first step\n")
    reading = Use("Read", {"file_path": str(skills / "bmad-create-story" / "steps.md")})
    request = bench.request("/bmad-create-story 1-1", skill="bmad-create-story")
    with serve(reading, Say("Read.")) as server:
        done = bench.attempt(server, request)
    assert done.verdict.outcome is Outcome.COMPLETED
    assert "the first step" in str(server.requests[1]["messages"])


def test_subagents_and_other_skills_are_allowed_and_give_one_result(bench: Bench) -> None:
    script = (
        Use("Skill", {"skill": "bmad-dev-story", "args": "1-2"}),
        Use("Agent", {"description": "a reviewer", "prompt": "Review.", "subagent_type": "general-purpose"}),
        Say("The subagent's report."),
        Say("Done."),
    )
    with serve(*script) as server:
        done = bench.attempt(server)
    assert done.verdict.outcome is Outcome.COMPLETED
    assert len(done.all("result")) == 1
    assert done.verdict.spend.tokens.input == 4000


@pytest.mark.parametrize(
    "tool", ["EnterWorktree", "ScheduleWakeup", "CronCreate", "Monitor", "WebFetch", "Workflow"]
)
def test_what_would_spoil_the_call_is_not_offered(bench: Bench, tool: str) -> None:
    with serve(Use(tool, {"name": "elsewhere"}), Say("Without it, then.")) as server:
        done = bench.attempt(server)
    assert done.verdict.outcome is Outcome.COMPLETED
    assert tool not in done.all("system", "init")[0]["tools"]
    assert "No such tool available" in str(server.requests[1]["messages"])


def test_a_denied_command_is_no_success(bench: Bench) -> None:
    script = (bash("git push origin main"), bash("curl http://127.0.0.1:9"), Say("I could not push."))
    with serve(*script) as server:
        done = bench.attempt(server)
    assert done.result.exit == 0
    assert done.verdict.outcome is Outcome.PERMISSION_DENIED
    assert done.verdict.denials == ("Bash: git push origin main", "Bash: curl http://127.0.0.1:9")


def test_a_rule_of_the_users_own_opens_what_is_not_offered_else(bench: Bench) -> None:
    rules = DEFAULT._replace(rules=("EnterWorktree", "Bash(python3:*)"))
    with serve(bash("python3 -c 'print(6 * 7)'"), Say("Done.")) as server:
        done = bench.attempt(server, bench.request(permissions=rules))
    assert done.verdict.outcome is Outcome.COMPLETED
    assert "EnterWorktree" in done.all("system", "init")[0]["tools"]


def test_a_prompt_longer_than_one_argument_can_be(bench: Bench) -> None:
    request = bench.request("/bmad-dev-story 1-1\n" + "All of this. " * 20_000 + "THE END", skill="bmad-dev-story")
    with serve(Say("Read it.")) as server:
        done = bench.attempt(server, request)
    assert done.verdict.outcome is Outcome.COMPLETED
    assert "THE END" in str(server.requests[0]["messages"])


def test_a_skill_that_is_not_there_stops_the_call(bench: Bench) -> None:
    with serve(Hang()) as server:
        done = bench.attempt(server, bench.request("/bmad-nothing 1-1", skill="bmad-nothing"))
    assert done.verdict.outcome is Outcome.SKILL_MISSING


def test_a_namespaced_command_is_found_by_the_guard(bench: Bench) -> None:
    bench.write(".claude/commands/bmad/bmm/workflows/dev-story.md", "Develop $ARGUMENTS the old way.\n")
    request = bench.request("/bmad:bmm:workflows:dev-story 1-1", skill="bmad:bmm:workflows:dev-story")
    with serve(Say("Done.")) as server:
        done = bench.attempt(server, request)
    assert done.verdict.outcome is Outcome.COMPLETED
    assert "Develop 1-1 the old way." in str(server.requests[0]["messages"])


SCRIPTED = re.compile(r"(?:uv run|python3) [^`\n]*_bmad/scripts/[^`\n]*")


@pytest.mark.parametrize(
    ("version", "skills"),
    [("6.12.0", ("build-auto", "code-review")), ("6.10.0", ("create-story", "dev-story", "code-review"))],
)
def test_what_bmads_skills_tell_an_agent_to_run_is_allowed(
    bench: Bench, bmad_method: BmadMethod, version: str, skills: tuple[str, ...]
) -> None:
    project = bmad_method(version, "--tools", "claude-code")
    folders = [project / ".claude" / "skills" / f"bmad-{skill}" for skill in skills]
    commands = [
        found.replace("{project-root}", str(project)).replace("{skill-root}", str(folder))
        for folder in folders
        for page in sorted(folder.rglob("*.md"))
        for found in SCRIPTED.findall(page.read_text())
    ]
    assert len(commands) >= len(skills)
    permissions = permissions_for(Commands(), allow=(), bypass=False, is_root=True, checkout=str(project))
    request = bench.request(f"/bmad-{skills[0]} 1-1", skill=f"bmad-{skills[0]}", worktree=str(project))
    subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=30)
    with serve(*map(bash, commands), Say("Done.")) as server:
        done = bench.attempt(server, request._replace(permissions=permissions))
    assert (done.verdict.outcome, done.verdict.denials) == (Outcome.COMPLETED, ())


# -- refusals

TOO_LONG = Refuse(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum")
NO_CREDIT = Refuse(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.")


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Refuse(401, "authentication_error", "invalid x-api-key"), Outcome.AUTH),
        (Refuse(403, "permission_error"), Outcome.AUTH),
        (Refuse(529, "overloaded_error"), Outcome.OVERLOADED),
        (Refuse(500, "api_error"), Outcome.OVERLOADED),
        (Drop(), Outcome.NETWORK),
        (NO_CREDIT, Outcome.BILLING),
        (TOO_LONG, Outcome.PROMPT_TOO_LONG),
        (Refuse(400, "invalid_request_error", "something else"), Outcome.CRASHED),
    ],
    ids=["401", "403", "529", "500", "drop", "credit", "prompt-too-long", "400"],
)
def test_an_api_error(bench: Bench, reply: Reply, outcome: Outcome) -> None:
    with serve(reply) as server:
        done = bench.attempt(server, variables=ONCE)
    assert (done.verdict.outcome, done.result.exit, done.verdict.limit) == (outcome, 1, None)
    assert done.verdict.message


def test_a_model_that_does_not_exist(bench: Bench) -> None:
    with serve(Refuse(404, "not_found_error", "model: no-such")) as server:
        done = bench.attempt(server, bench.request(model="no-such"), variables=ONCE)
    assert done.verdict.outcome is Outcome.MISCONFIGURED


def test_nothing_listens_there(bench: Bench) -> None:
    with serve(Say("never asked")) as server:
        done = bench.attempt(server, variables={**ONCE, "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"})
    assert done.verdict.outcome is Outcome.NETWORK


def test_nobody_is_logged_in(bench: Bench) -> None:
    with serve(Say("never asked")) as server:
        done = bench.attempt(server, variables={"ANTHROPIC_API_KEY": ""})
    assert (done.verdict.outcome, server.requests) == (Outcome.AUTH, [])


def test_overloaded_at_first_is_no_failure(bench: Bench) -> None:
    with serve(Refuse(529, "overloaded_error"), Say("Now it works.")) as server:
        done = bench.attempt(server)
    assert done.verdict.outcome is Outcome.COMPLETED
    assert done.all("system", "api_retry")[0]["error_status"] == 529


# -- limits


def _unified(status: str, window: str, kind: str, resets_at: int, used: str) -> dict[str, str]:
    of_window = {f"{window}-status": status, f"{window}-reset": str(resets_at), f"{window}-utilization": used}
    headers = {"status": status, "reset": str(resets_at), "representative-claim": kind, **of_window}
    return {f"anthropic-ratelimit-unified-{name}": value for name, value in headers.items()}


@pytest.mark.parametrize(("window", "kind"), [("5h", "five_hour"), ("7d", "seven_day")])
def test_a_usage_limit_parks_until_its_reset(bench: Bench, window: str, kind: str) -> None:
    resets_at = int(time.time()) + 7200
    headers = _unified("rejected", window, kind, resets_at, "1.0")
    with serve(Refuse(429, "rate_limit_error", "limit", headers)) as server:
        done = bench.attempt(server, variables={**ONCE, **SUBSCRIPTION})
    assert done.verdict.outcome is Outcome.LIMIT
    assert done.verdict.limit == UsageLimit(kind, resets_at)


def test_a_warning_does_not_park(bench: Bench) -> None:
    headers = _unified("allowed_warning", "5h", "five_hour", int(time.time()) + 7200, "0.92")
    with serve(Say("You've hit your session limit · resets 7:20pm", headers)) as server:
        done = bench.attempt(server, variables=SUBSCRIPTION)
    assert done.all("rate_limit_event")[0]["rate_limit_info"]["status"] == "allowed_warning"
    assert (done.verdict.outcome, done.verdict.limit) == (Outcome.COMPLETED, None)


def test_the_limit_of_an_api_key_has_no_reset(bench: Bench) -> None:
    with serve(Refuse(429, "rate_limit_error", "slow down")) as server:
        done = bench.attempt(server, variables=ONCE)
    assert (done.verdict.outcome, done.verdict.limit) == (Outcome.LIMIT, UsageLimit("api"))


# -- bounds


def test_the_turns_are_used_up(bench: Bench) -> None:
    with serve(bash("ls")) as server:
        done = bench.attempt(server, bench.request(), "--max-turns", "2")
    assert done.verdict.outcome is Outcome.MAX_TURNS


def test_the_budget_is_used_up(bench: Bench) -> None:
    with serve(bash("ls")) as server:
        done = bench.attempt(server, bench.request(max_dollars=0.01))
    assert done.verdict.outcome is Outcome.BUDGET
    assert done.verdict.spend.dollars
    assert done.verdict.spend.dollars > 0.01


# -- ends from outside


@pytest.mark.parametrize(
    ("number", "code", "by_signal"),
    [(signal.SIGINT, 0, None), (signal.SIGTERM, 143, None), (signal.SIGKILL, None, 9)],
    ids=["SIGINT", "SIGTERM", "SIGKILL"],
)
def test_a_signal_in_the_middle_and_going_on_afterwards(
    bench: Bench, number: int, code: int | None, by_signal: int | None
) -> None:
    def meanwhile(folder: str) -> None:
        wait_for(server.hanging.is_set)
        os.kill(agent_process(folder), number)

    request = bench.request("Remember the word aubergine.")
    with serve(bash("ls"), Hang()) as server:
        ended = bench.attempt(server, request, meanwhile=meanwhile)
    assert (ended.result.exit, ended.result.signal) == (code, by_signal)
    assert (ended.verdict.outcome, ended.verdict.session) == (Outcome.CRASHED, request.session)
    with serve(Say("Aubergine.")) as server:
        done = bench.attempt(server, bench.request("Which word?", resume=ended.verdict.session))
    assert (done.verdict.outcome, done.verdict.session) == (Outcome.COMPLETED, request.session)
    assert "aubergine" in str(server.requests[0]["messages"])


def test_a_cancelled_call(bench: Bench) -> None:
    def meanwhile(folder: str) -> None:
        wait_for(server.hanging.is_set)
        assert cancel_attempt(folder, "a test")

    with serve(Hang()) as server:
        done = bench.attempt(server, meanwhile=meanwhile)
    assert done.verdict.outcome is Outcome.CANCELLED


@pytest.mark.parametrize(
    ("limits", "outcome"),
    [(TimeLimits(4.0, 0), Outcome.TIMED_OUT), (TimeLimits(60.0, 3.0), Outcome.STALLED)],
    ids=["time", "stall"],
)
def test_a_call_over_its_time(bench: Bench, limits: TimeLimits, outcome: Outcome) -> None:
    with serve(bash("ls"), Hang()) as server:
        done = bench.attempt(server, limits=limits)
    assert done.verdict.outcome is outcome


def test_work_that_has_landed_stands_though_the_call_never_ended(bench: Bench) -> None:
    """A rule of the user's own brings back what a call waits for after its result."""
    rules = DEFAULT._replace(rules=("ScheduleWakeup",))
    waking = Use("ScheduleWakeup", {"delaySeconds": 600, "reason": "later", "prompt": "look again"})
    with serve(waking, Say("Done for now.")) as server:
        done = bench.attempt(server, bench.request(permissions=rules), limits=TimeLimits(60.0, 5.0))
    assert (done.result.by, done.verdict.outcome) == ("stall", Outcome.COMPLETED)


# -- going on


def test_the_money_of_a_resumed_conversation_is_counted_once(bench: Bench) -> None:
    with serve(bash("ls"), Say("First.")) as server:
        first = bench.attempt(server).verdict
    with serve(Say("Second.")) as server:
        request = bench.request("And now?", resume=first.session, max_dollars=0.01)
        second = bench.attempt(server, request, before=first.session_spend).verdict
    assert (second.outcome, second.session) == (Outcome.COMPLETED, first.session)
    assert first.spend.dollars
    assert second.spend.dollars == pytest.approx(first.spend.dollars / 2)
    assert second.session_spend.dollars == pytest.approx(first.spend.dollars * 1.5)
    assert (first.spend.tokens.input, second.spend.tokens.input) == (2000, 1000)


def test_a_conversation_nobody_knows(bench: Bench) -> None:
    unknown = str(uuid4())
    with serve(Say("never asked")) as server:
        done = bench.attempt(server, bench.request(resume=unknown))
    assert (done.verdict.outcome, server.requests) == (Outcome.CRASHED, [])
    assert unknown in done.verdict.message


def test_a_session_id_that_is_in_use(bench: Bench) -> None:
    request = bench.request()
    with serve(Say("Done.")) as server:
        bench.attempt(server, request)
        done = bench.attempt(server, request)
    assert (done.verdict.outcome, done.events[0].kind) == (Outcome.CRASHED, "error")
    assert "already in use" in done.verdict.message


def test_an_option_it_does_not_know(bench: Bench) -> None:
    with serve(Say("never asked")) as server:
        done = bench.attempt(server, bench.request(), "--no-such-option")
    assert done.verdict.outcome is Outcome.CRASHED
    assert "--no-such-option" in done.verdict.message
