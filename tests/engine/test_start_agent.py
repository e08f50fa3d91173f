"""An account that rests: another agent goes on, and the first is called again afterwards."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from bmad_autopilot.agents.adapter import UsageLimit
from bmad_autopilot.agents.rate_limits import limits_file, limits_folder, record_refusal
from bmad_autopilot.engine.ports import AgentChoice
from bmad_autopilot.engine.start_agent import choose_agent
from bmad_autopilot.project.project import Project, open_project
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.supervisor_lock import ControlRequest, write_request
from bmad_autopilot.sim.sample import scripted_agent_command
from bmad_autopilot.workflows.workflow import DEV, Step
from tests.support.claude_events import api_error, assistant_text, init, limit
from tests.support.lane_projects import LaneProject, RecordedRun

OWN_PROMPT = Step("tidy", "dev")


def parks(agent: str, seconds: float = 3600.0, *, kind: str = "five_hour") -> str:
    path = limits_file(limits_folder(os.environ), agent, os.environ)
    record_refusal(path, agent, UsageLimit(kind, time.time() + seconds), time.time(), lambda: 0.0)
    return path


def with_second(
    sample: LaneProject, *, first: str = "scripted", second: str = "second", roles: str = ""
) -> Project:
    """Two agents of the same habits, each with an account of its own."""
    path = sample.root / "bmad-autopilot.toml"
    command = json.dumps(scripted_agent_command())
    settings = path.read_text().replace('agent = "scripted"', f'agent = "{first}"\nfallback = "{second}"')
    path.write_text(f"{settings}\n[agents.second]\ncommand = {command}\n{roles}")
    sample.git("commit", "--quiet", "--all", "--message", "Two agents")
    return open_project(str(sample.root))


def called(ran: RecordedRun) -> list[str]:
    return [str(call["agent"]) for call in ran.entries("call")]


def test_while_the_first_rests_the_other_is_called_and_nobody_where_both_do(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    project = with_second(sample)
    assert choose_agent(project, DEV) == AgentChoice("scripted")
    first = parks("scripted", 7200)
    assert choose_agent(project, DEV) == AgentChoice("second")
    parks("second")
    both = choose_agent(project, DEV)
    assert both.agent == "scripted"
    assert 3000 < both.until - time.time() < 4000  # the first of the two that can be called again
    os.unlink(first)
    assert choose_agent(project, DEV) == AgentChoice("scripted")


def test_a_role_has_a_fallback_of_its_own_or_none(tmp_path: Path) -> None:
    project = with_second(LaneProject(tmp_path / "p"), roles='[roles.dev]\nfallback = "scripted"\n')
    parks("scripted")
    assert choose_agent(project, DEV).until > time.time()
    assert choose_agent(project, Step("x", "qa")) == AgentChoice("second")


def test_without_a_fallback_the_limit_is_waited_for(tmp_path: Path) -> None:
    project = open_project(str(LaneProject(tmp_path / "p").root))
    parks("scripted")
    found = choose_agent(project, DEV)
    assert (found.agent, found.fallback_problem) == ("scripted", "")
    assert found.until > time.time()


@pytest.mark.parametrize(
    ("step", "lacks"),
    [
        (DEV, "codex cannot stand in: BMAD's dev-story is not installed for it"),
        (OWN_PROMPT, "codex cannot stand in: codex is not installed, or not on PATH"),
    ],
)
def test_one_that_cannot_do_the_step_does_not_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: Step, lacks: str
) -> None:
    project = with_second(LaneProject(tmp_path / "p"), second="codex")
    monkeypatch.setenv("PATH", str(tmp_path))
    parks("scripted")
    found = choose_agent(project, step)
    assert (found.agent, found.fallback_problem) == ("scripted", lacks)
    assert found.until > time.time()


def test_the_other_goes_on_until_the_limit_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal says who was called, each time."""
    sample = LaneProject(tmp_path / "p")
    with_second(sample)
    path = parks("scripted")
    append = Journal.append

    def over(journal: Journal, kind: str, /, **fields: object) -> object:
        if kind == "ended" and os.path.exists(path):
            os.unlink(path)  # it resets while the first call is taken in
        return append(journal, kind, **fields)

    monkeypatch.setattr(Journal, "append", over)
    ran = sample.run()
    assert ran.end.status == "completed"
    assert called(ran) == ["second", "scripted", "scripted"]
    assert ran.entries("resting") == []
    assert [one["agent"] for one in json_of(ran)] == ["second", "scripted", "scripted"]


def json_of(ran: RecordedRun) -> list[dict[str, object]]:
    folders = sorted(Path(ran.end.folder).glob("steps/*/attempt-*/spec.json"))
    return [json.loads(path.read_text()) for path in folders]


@pytest.mark.real
def test_a_call_that_meets_the_limit_halfway_leaves_its_work_to_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = LaneProject(tmp_path / "p")
    with_second(sample, first="claude")
    knows = init(skills=["bmad-create-story"], slash_commands=["bmad-create-story"])
    met = (
        limit(resets_at=int(time.time()) + 3600),
        assistant_text("That is your limit", error="rate_limit"),
        api_error(429),
    )
    lines = "\n".join(json.dumps(one) for one in (knows, *met))
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    work = "open('half-done.md', 'w').write('a beginning')"
    program.write_text(f"#!{sys.executable}\n{work}\nprint({lines!r})\nraise SystemExit(1)\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    ran = sample.run()
    assert ran.end.status == "completed"
    assert called(ran) == ["claude", "second", "second", "second"]
    met_first = ran.entries("ended")[0]
    assert (met_first["finding"], met_first["outcome"]) == ("refused", "limit")
    assert ran.entries("resting") == []
    assert (sample.root / "half-done.md").read_text() == "a beginning"


@pytest.mark.real
def test_that_it_cannot_stand_in_is_said_once_and_the_limit_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = LaneProject(tmp_path / "p")
    with_second(sample, second="codex")
    parks("scripted")
    append = Journal.append

    def leaves(journal: Journal, kind: str, /, **fields: object) -> object:
        if kind == "resting":
            write_request(os.path.dirname(journal.path), ControlRequest.STOP)
        return append(journal, kind, **fields)

    monkeypatch.setattr(Journal, "append", leaves)
    ran = sample.run()
    assert (ran.end.status, called(ran)) == ("left", [])
    (rests,) = ran.entries("resting")
    assert rests["lacks"] == "codex cannot stand in: BMAD's create-story is not installed for it"
