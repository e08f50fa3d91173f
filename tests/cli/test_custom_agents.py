"""A command of the project's own in the place of a known agent: every verb takes it."""

import json
import os

import pytest

from tests.support.bmad_project import ProjectMaker, SampleProject, run_bmad
from tests.support.isolated_path import IsolatedPath

CONFIG = """\
agent = "instance"

[agents.instance]
command = ["./scripts/claude-instance", "create", "{name}", "--prompt", "{prompt}", "--branch", "{branch}"]
completion = "evidence"
"""


@pytest.fixture
def sample(project: ProjectMaker) -> SampleProject:
    made = project()
    made.write("bmad-autopilot.toml", CONFIG)
    made.write("scripts/claude-instance", "#!/bin/sh\n").chmod(0o755)
    return made


def test_status_names_it_and_its_clients_invocation(sample: SampleProject) -> None:
    ran = run_bmad("status", "--json", cwd=sample.root)
    following = json.loads(ran.out)["next"]
    assert (ran.code, following["agent"]) == (0, "instance")
    assert following["invocation"].startswith("/bmad-")


def test_the_plan_names_it(sample: SampleProject) -> None:
    (step,) = json.loads(run_bmad("next", "--dry-run", "--json", cwd=sample.root).out)["steps"]
    assert (step["agent"], step["prompt"]) == ("instance", "/bmad-code-review 1-2-sign-in")
    assert "code-review (qa: instance)" in run_bmad("next", "--dry-run", cwd=sample.root).out


def test_doctor_looks_for_its_program_and_never_starts_it(sample: SampleProject, machine: IsolatedPath) -> None:
    script = sample.write("scripts/claude-instance", "#!/bin/sh\ntouch started\n")
    script.chmod(0o755)

    def check() -> dict[str, str]:
        document = json.loads(run_bmad("doctor", "--json", cwd=sample.root).out)
        found: dict[str, str] = next(item for item in document["checks"] if item["name"] == "agent instance")
        return found

    assert check()["state"] == "ok"
    assert not os.path.exists(sample.root / "started")
    script.chmod(0o644)
    assert check()["state"] == "fail"
    assert "[agents.instance]" in json.dumps(check())


def test_init_writes_the_slash_commands_of_its_client(sample: SampleProject) -> None:
    ran = run_bmad("init", cwd=sample.root)
    assert "written    .claude/commands/run-story.md" in ran.out


def test_an_agent_that_is_nowhere_is_said_with_its_line(sample: SampleProject) -> None:
    sample.write("bmad-autopilot.toml", CONFIG.replace('agent = "instance"', 'agent = "instanze"'))
    ran = run_bmad("status", cwd=sample.root)
    assert ran.code == 4
    assert "bmad-autopilot.toml:1" in ran.err
    assert "did you mean `instance`?" in ran.err
