"""The whole way with the real Claude Code: from an action to its result, as a program has it."""

import json
import os
import time
from pathlib import Path

import pytest

from bmad_autopilot import Action, dispatch_code_review, dispatch_to_instance, load_story_status
from bmad_autopilot.agents.attempt import read_call_spec
from bmad_autopilot.agents.rate_limits import limits_file, limits_folder, read_parked
from bmad_autopilot.agents.verdicts import read_verdict
from bmad_autopilot.runs.layout import find_attempts, runs_folder
from tests.real import clients
from tests.real.claude_server import Refuse, Reply, Say, Server, Use, serve
from tests.support.bmad_project import SampleProject, make_project

pytestmark = pytest.mark.real

DEV = Action("dev-story", "1-3-sign-out", "", {"story_id": "1-3-sign-out"})
BOARD = "_bmad-output/implementation-artifacts/sprint-status.yaml"


@pytest.fixture
def sample(real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path) -> SampleProject:
    """A project with a test command, and Claude Code as a user has it: on PATH, with a key."""
    program = clients.install(real, clients.CLAUDE, "claude")
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    for name, value in {
        "ANTHROPIC_API_KEY": "sk-ant-dummy-0123456789",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
        "GH_TOKEN": "ghp_" + "s3cr3t" * 6,
    }.items():
        monkeypatch.setenv(name, value)
    project = make_project(tmp_path / "project")
    project.write("package.json", json.dumps({"name": "it", "scripts": {"test": "node test.js"}}))
    look = "console.log(process.env); require('assert')(require('fs').existsSync('sign-out.js'))\n"
    project.write("test.js", look)
    project.commit("Have a test")
    return project


def served(monkeypatch: pytest.MonkeyPatch, *script: Reply) -> "Serving":
    return Serving(monkeypatch, script)


class Serving:
    def __init__(self, monkeypatch: pytest.MonkeyPatch, script: tuple[Reply, ...]) -> None:
        self._patch = monkeypatch
        self._server = serve(*script)

    def __enter__(self) -> Server:
        server = self._server.__enter__()
        self._patch.setenv("ANTHROPIC_BASE_URL", server.url)
        return server

    def __exit__(self, *_: object) -> None:
        self._server.__exit__(None, None, None)


def work(sample: SampleProject) -> list[Reply]:
    """What a model would do for a small story."""
    root, board = sample.root, sample.board.read_text()
    page = sample.implementation / "1-3-sign-out.md"
    after = board.replace("1-3-sign-out: ready-for-dev", "1-3-sign-out: in-progress")
    return [
        Use("Write", {"file_path": str(root / "sign-out.js"), "content": "exports.out = true\n"}),
        Use("Bash", {"command": "npm test", "description": "Run the tests"}),
        Use("Bash", {"command": "git add sign-out.js", "description": "Stage it"}),
        Use("Bash", {"command": "git commit -m 'Sign out'", "description": "Commit it"}),
        Use("Read", {"file_path": str(page)}),
        Use("Edit", {"file_path": str(page), "old_string": "- [ ]", "new_string": "- [x]", "replace_all": True}),
        Use("Read", {"file_path": str(sample.board)}),
        Use(
            "Edit",
            {
                "file_path": str(sample.board),
                "old_string": next(line for line in after.splitlines() if "1-3-sign-out" in line),
                "new_string": "  1-3-sign-out: review",
            },
        ),
        Say("Done."),
    ]


def test_a_story_is_developed(sample: SampleProject, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(monkeypatch, *work(sample)) as server:
        result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
    assert (result.status, result.outcome, result.exit_code) == ("success", "completed", 0), result
    said = json.dumps(server.requests[0])
    assert "Base directory for this skill" in said, "the skill was expanded"
    assert "You work unattended" in said
    assert sample.git("log", "-1", "--format=%s|%an|%cn").strip() == "Sign out|Test Person|claude (BMAD Autopilot)"
    assert load_story_status("1-3", str(sample.root)) == "review"
    (place,) = find_attempts(runs_folder(str(sample.root)))
    verdict = read_verdict(place.folder)
    assert verdict is not None
    assert verdict.denials == ()
    assert (verdict.spend.dollars or 0) > 0
    everything = b"".join(path.read_bytes() for path in sample.root.rglob("*") if path.is_file())
    assert b"s3cr3ts3cr3t" not in everything, "the agent never had our token"
    assert b"sk-ant-dummy-0123456789" not in everything, "its own key it had, and it is not written down"


def test_a_usage_limit_parks_the_account(sample: SampleProject, monkeypatch: pytest.MonkeyPatch) -> None:
    reset = int(time.time()) + 3600
    headers = {
        "anthropic-ratelimit-unified-status": "rejected",
        "anthropic-ratelimit-unified-reset": str(reset),
        "anthropic-ratelimit-unified-representative-claim": "five_hour",
    }
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat01-dummy")
    with served(monkeypatch, Refuse(429, "rate_limit_error", headers=headers)) as server:
        result = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
        assert (result.status, result.outcome) == ("intervention_needed", "limit"), result
        asked = len(server.requests)
        again = dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root))
        assert (again.status, again.outcome) == ("intervention_needed", "limit")
        assert len(server.requests) == asked, "nothing was sent while the account is parked"
    parked = read_parked(limits_file(limits_folder(os.environ), "claude", os.environ), time.time()).parked
    assert parked is not None
    assert (parked.kind, reset <= parked.until <= reset + 60) == ("five_hour", True)


def test_a_reviewer_is_another_conversation(sample: SampleProject, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = {"reviewResult": "changes-requested", "summary": "no test"}
    path = sample.implementation / "1-2-sign-in.review.json"
    for _ in range(2):
        script: list[Reply] = [
            Use("Write", {"file_path": str(path), "content": json.dumps(verdict)}),
            Say("Reviewed."),
        ]
        with served(monkeypatch, *script) as server:
            assert dispatch_code_review("1-2", project=str(sample.root)).status == "success"
            roles = {message["role"] for message in server.requests[0]["messages"]}
            assert "assistant" not in roles, "nothing of an earlier conversation"
    assert json.loads(path.read_text()) == verdict
    specs = [read_call_spec(place.folder) for place in find_attempts(runs_folder(str(sample.root)))]
    assert len({spec.session for spec in specs}) == len({spec.name for spec in specs}) == 2
