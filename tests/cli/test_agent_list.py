"""bmad agent list: every agent with its state, and the calls that wait for somebody."""

import os
import signal
import time
from pathlib import Path

import pytest

from bmad_autopilot.agents.adapter import AttemptVerdict, Outcome, UsageLimit
from bmad_autopilot.agents.attempt import AttemptState, attempt_state
from bmad_autopilot.agents.rate_limits import limits_file, limits_folder, record_refusal
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.agents.verdicts import write_verdict
from tests.cli.agent_runs import NAME, RUN, attempt_of, call, project_with_stub, steady, under_way
from tests.cli.test_board import validate
from tests.support.agent_stubs import wait_until
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.isolated_path import IsolatedPath
from tests.support.terminals import assert_golden, run_in_terminal, run_piped, strip_colors

ROLES = """\
[roles.qa]
agent = "codex"
model = "small"

[roles.revisor]
agent = "instance"

[agents.instance]
command = ["./scripts/instance", "{prompt}"]

[agents.stub]
command = ["stub"]
"""


@pytest.fixture
def sample(project: ProjectMaker, machine: IsolatedPath) -> SampleProject:
    made = project_with_stub(project)
    made.write("bmad-autopilot.toml", ROLES)
    made.write("scripts/instance", "#!/bin/sh\ntouch started\n").chmod(0o755)
    made.commit()
    return made


def agents(sample: SampleProject | Path) -> dict[str, dict[str, object]]:
    root = sample if isinstance(sample, Path) else sample.root
    document = validate("agent-list", run_piped("agent", "list", "--json", cwd=root).stdout)
    return {one["name"]: one for one in document["agents"]}  # type: ignore[attr-defined]


def calls(sample: SampleProject) -> list[dict[str, object]]:
    document = validate("agent-list", run_piped("agent", "list", "--json", cwd=sample.root).stdout)
    return document["calls"]  # type: ignore[return-value]


def test_agents_and_calls_on_one_screen(sample: SampleProject) -> None:
    path = limits_file(limits_folder(os.environ), "claude", os.environ)
    now = time.time()
    record_refusal(path, "claude", UsageLimit("five_hour", now + 3600), now, lambda: 0.0)
    call(sample, "import sys; print('could not'); sys.exit(3)")
    with under_way(sample, folder=attempt_of(sample, "dev-story-20260102-120000")):
        done = run_piped("agent", "list", cwd=sample.root)
        shown = strip_colors(run_in_terminal("agent", "list", cwd=sample.root, columns=80))
    assert (done.returncode, done.stderr) == (0, "")
    until_when = time.strftime("%Y-%m-%d %H:%M", time.localtime(now + 3605))
    assert_golden("agent-list", steady(done.stdout).replace(until_when, "SOON"))
    assert_golden("agent-list-80", steady(shown).replace(until_when, "SOON"))
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_what_is_installed_and_who_uses_it(sample: SampleProject) -> None:
    found = agents(sample)
    assert found["claude"]["version"] == "2.1.325 (Claude Code)"
    assert found["claude"]["roles"] == ["sm", "dev"]
    assert found["codex"]["installed"] is False
    assert found["codex"]["roles"] == ["qa"]
    assert found["codex"]["install"] == "npm install -g @openai/codex"
    assert found["instance"]["installed"] is True
    assert found["stub"]["problem"] == "stub not found"
    assert not (sample.root / "started").exists(), "an own command may do anything: it is not run"


def test_an_agent_that_cannot_say_its_version(sample: SampleProject, machine: IsolatedPath) -> None:
    machine.add("codex", "echo 'node is too old' >&2; exit 1")
    assert agents(sample)["codex"]["problem"] == "node is too old"


def test_outside_a_project_there_are_agents_only(tmp_path: Path, machine: IsolatedPath) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    found = agents(outside)
    assert found["claude"]["installed"] is True
    assert all(one["roles"] == [] for one in found.values())
    assert "calls" not in run_piped("agent", "list", cwd=outside).stdout


def test_a_call_is_listed_until_somebody_has_taken_it_in(sample: SampleProject) -> None:
    folder = call(sample, "print('done')")
    (one,) = calls(sample)
    assert (one["name"], one["state"], one["last"]) == (NAME, "finished", "done")
    assert str(one["ended"]).endswith("ago: exit code 0")
    write_verdict(str(folder), AttemptVerdict(Outcome.COMPLETED))
    assert calls(sample) == []


def test_running_lost_and_never_started(sample: SampleProject) -> None:
    attempt_of(sample, "dev-story-20270101-120000")
    with under_way(sample) as folder:
        (one,) = calls(sample)
        assert (one["state"], one["last"], one["ended"]) == ("running", "ready", None)
        started = attempt_files.read_started(str(folder))
        assert started is not None
        os.kill(started[0], signal.SIGKILL)
        wait_until(lambda: attempt_state(str(folder)) is AttemptState.LOST, "lost")
        (one,) = calls(sample)
        assert (one["state"], one["ended"]) == ("lost", "lost: its supervisor was killed")
        run_piped("agent", "cancel", RUN, cwd=sample.root)


def test_a_record_that_cannot_be_read_hides_no_other(sample: SampleProject) -> None:
    call(sample, "print('well')")
    broken = call(sample, "print('broken')", attempt_of(sample, number=2))
    (broken / "spec.json").write_text("{")
    found = calls(sample)
    assert [one["agent"] for one in found] == ["?", "stub"]
    assert "is no JSON" in str(found[0]["ended"])


def test_twenty_at_most(sample: SampleProject) -> None:
    first = call(sample, "print('x')")
    for number in range(2, 24):
        folder = attempt_of(sample, number=number)
        for name in ("spec.json", "result.json", "events.jsonl", "started"):
            (folder / name).write_bytes((first / name).read_bytes())
    document = validate("agent-list", run_piped("agent", "list", "--json", cwd=sample.root).stdout)
    assert len(document["calls"]) == 20  # type: ignore[arg-type]
    assert document["more_calls"] == 3
    assert "… 3 more" in run_piped("agent", "list", cwd=sample.root).stdout
    assert document["calls"][0]["name"] == f"{RUN}/01-dev/23"  # type: ignore[index]


def test_the_last_line_of_a_long_record(sample: SampleProject) -> None:
    call(sample, "for n in range(3000): print('a rather long line of output, number', n)")
    (one,) = calls(sample)
    assert one["last"] == "a rather long line of output, number 2999"


def test_a_broken_board_is_no_hindrance_and_a_broken_setting_is_said(sample: SampleProject) -> None:
    sample.board.write_bytes(b"\xff\xfe")
    assert run_piped("agent", "list", cwd=sample.root).returncode == 0
    sample.write("bmad-autopilot.toml", "agent = 5")
    done = run_piped("agent", "list", cwd=sample.root)
    assert done.returncode == 4
    assert "bmad-autopilot.toml:1" in done.stderr
