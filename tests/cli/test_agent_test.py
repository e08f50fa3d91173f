"""bmad agent test: a real call in a repository of its own, believed by the file it leaves."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from bmad_autopilot.agents.adapter import Outcome, UsageLimit
from bmad_autopilot.agents.rate_limits import limits_file, limits_folder, record_refusal
from bmad_autopilot.agents.registry import PACKAGES
from bmad_autopilot.cli.agent_test import LOGIN, advice
from tests.cli.agent_runs import steady
from tests.support.agent_stubs import TIMEOUT, wait_until
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.isolated_path import IsolatedPath
from tests.support.terminals import COMMAND, assert_golden, run_piped

FIND_WORD = "word=$(printf '%s' \"$1\" | sed -n 's/.*this word: //p')"

CONFIG = """\
agent = "good"

[roles.dev]
model = "large"

[environment]
pass = ["HANDED_ON"]

[agents.good]
command = ["./scripts/good", "{prompt}", "--model", "{model}"]

[agents.bad]
command = ["sh", "-c", "echo I cannot; echo no such model >&2; exit 3"]

[agents.lazy]
command = ["sh", "-c", "echo all done"]

[agents.wrong]
command = ["sh", "-c", "echo something else > hello.txt"]

[agents.nowhere]
command = ["no-such-program"]

[agents.slow]
command = ["sh", "-c", "echo $$ > pid.tmp; mv pid.tmp pid; sleep 1000"]

[agents.later]
command = "(sleep 0.5; {prompt_file}) >/dev/null 2>&1 &"
shell = true
completion = "evidence"

[agents.boxed]
command = ["./scripts/good", "{prompt}"]
launcher = "box"

[launchers.box]
kind = "docker"
target = "box"
"""
LATER = "(sleep 0.5; printf '%s' {prompt} | sed -n 's/.*this word: //p' > hello.txt) >/dev/null 2>&1 &"


@pytest.fixture
def sample(project: ProjectMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SampleProject:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    made = project()
    made.write("bmad-autopilot.toml", CONFIG.replace("(sleep 0.5; {prompt_file}) >/dev/null 2>&1 &", LATER))
    script = (
        f'#!/bin/sh\n{FIND_WORD}\necho "writing $word with $3"\nenv > {tmp_path}/seen\necho "$word" > hello.txt\n'
    )
    made.write("scripts/good", script).chmod(0o755)
    made.commit()
    return made


def left_behind(tmp_path: Path) -> list[str]:
    return sorted(os.listdir(tmp_path / "temporary"))


def test_one_that_works(sample: SampleProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "hush-hush")
    monkeypatch.setenv("HANDED_ON", "from the settings")
    done = run_piped("agent", "test", "good", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")
    assert_golden("agent-test", steady(done.stdout))
    seen = (tmp_path / "seen").read_text()
    assert "hush-hush" not in seen
    assert "HANDED_ON=from the settings" in seen, "the environment is a run's"
    assert sample.git("status", "--porcelain") == ""
    assert not (sample.root / "hello.txt").exists()
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("bad", "outcome   crashed: no such model"),
        ("lazy", "file      no hello.txt"),
        ("wrong", "file      hello.txt holds 'something else', not "),
        ("nowhere", "no-such-program not found"),
    ],
)
def test_one_that_does_not(sample: SampleProject, tmp_path: Path, name: str, says: str) -> None:
    done = run_piped("agent", "test", name, cwd=sample.root)
    assert (done.returncode, done.stderr) == (1, "")
    assert says in done.stdout
    assert f"{name} does not work here" in done.stdout
    assert "  fix: " in done.stdout
    assert left_behind(tmp_path) == []


def test_its_last_words_are_shown(sample: SampleProject) -> None:
    done = run_piped("agent", "test", "bad", cwd=sample.root)
    assert "printed   I cannot\n" in done.stdout
    assert "printed   no such model\n" in done.stdout


def test_a_model_can_be_asked_for(sample: SampleProject) -> None:
    done = run_piped("agent", "test", "good", "--model", "tiny", "--keep", cwd=sample.root)
    assert "with tiny" in done.stdout


def test_all_of_it_can_be_kept(sample: SampleProject, tmp_path: Path) -> None:
    done = run_piped("agent", "test", "good", "--keep", cwd=sample.root)
    found = re.search(r"^kept +([^:]+):", done.stdout, re.M)
    assert found is not None
    assert found[1].startswith(str(tmp_path / "temporary"))
    assert {"result.json", "events.jsonl", "verdict.json"} <= set(os.listdir(f"{found[1]}/attempt"))
    assert Path(found[1], "work", "hello.txt").exists()


def test_one_that_only_begins_the_work_is_judged_by_the_file(sample: SampleProject) -> None:
    done = run_piped("agent", "test", "later", cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_launcher_is_left_out_and_that_is_said(sample: SampleProject) -> None:
    done = run_piped("agent", "test", "boxed", cwd=sample.root)
    assert done.returncode == 0
    assert "launcher  box is left out" in done.stdout


def test_ctrl_c_ends_the_call_too(sample: SampleProject, tmp_path: Path) -> None:
    child = subprocess.Popen([*COMMAND, "agent", "test", "slow"], cwd=sample.root, stdout=subprocess.PIPE)

    def pids() -> list[Path]:
        return list((tmp_path / "temporary").glob("bmad-agent-test-*/*/pid"))

    try:
        wait_until(pids, "the agent runs")
        (path,) = pids()
        agent = int(path.read_text())
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=TIMEOUT)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == 130
    assert not Path(f"/proc/{agent}").exists()
    assert left_behind(tmp_path) == []


def test_an_agent_that_nobody_knows(sample: SampleProject) -> None:
    done = run_piped("agent", "test", "claud", cwd=sample.root)
    assert done.returncode == 2
    assert "there is no agent 'claud'" in done.stderr


def test_one_that_is_not_installed_says_how_to_get_it(sample: SampleProject, machine: IsolatedPath) -> None:
    done = run_piped("agent", "test", "codex", cwd=sample.root)
    assert done.returncode == 1
    assert "fix: npm install -g @openai/codex" in done.stdout


def test_a_parked_account_is_left_alone(sample: SampleProject, machine: IsolatedPath, tmp_path: Path) -> None:
    now = time.time()
    path = limits_file(limits_folder(os.environ), "claude", os.environ)
    record_refusal(path, "claude", UsageLimit("five_hour", now + 3600), now, lambda: 0.0)
    done = run_piped("agent", "test", "claude", cwd=sample.root)
    assert done.returncode == 1
    assert "claude has met its five_hour limit, until " in done.stderr
    assert left_behind(tmp_path) == []


CLAUDE = """\
if [ "$1" = --version ]; then echo "2.1.325 (Claude Code)"; exit 0; fi
echo '{events}'
exit 1
"""


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ('"api_error_status": 401, "result": "Invalid API key"', "fix: claude, then /login"),
        ('"api_error_status": 404', "fix: npm install -g @anthropic-ai/claude-code"),
        ('"api_error_status": 529', "fix: the service is overloaded"),
        ('"api_error_status": 429', "parked    until "),
    ],
)
def test_what_helps_is_said_by_how_it_ended(
    sample: SampleProject, machine: IsolatedPath, result: str, says: str
) -> None:
    head = '"type": "result", "subtype": "success", "is_error": true, "terminal_reason": "api_error"'
    machine.add("claude", CLAUDE.replace("{events}", f"{{{head}, {result}}}"))
    done = run_piped("agent", "test", "claude", cwd=sample.root)
    assert (done.returncode, done.stderr) == (1, "")
    assert says in done.stdout


def test_outside_a_project(tmp_path: Path, machine: IsolatedPath) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    done = run_piped("agent", "test", "codex", cwd=outside)
    assert done.returncode == 1
    assert os.listdir(outside) == []


@pytest.mark.parametrize("outcome", list(Outcome))
def test_there_is_advice_for_every_outcome_of_every_agent(outcome: Outcome) -> None:
    assert LOGIN.keys() == PACKAGES.keys()
    for name in (*PACKAGES, "mine"):
        text = advice(outcome, name)
        assert text
        assert "{" not in text
