"""Nothing secret is written down, wherever it comes from; and an agent gets nothing of ours."""

import json
import os
import sys
import time
import uuid
from pathlib import Path

import pytest

from bmad_autopilot import Action, dispatch_to_instance
from bmad_autopilot.agents.adapter import AgentCommand
from bmad_autopilot.agents.attempt import CallSpec
from bmad_autopilot.agents.shim.redact import environment_secrets
from bmad_autopilot.agents.start import TimeLimits, claim_attempt, start_attempt
from bmad_autopilot.sim.sample import PLANNING, scripted_agent_command
from tests.agents.shim.test_redact import SHAPES
from tests.engine.projects import project_with_agent
from tests.support.agent_stubs import finish, init_repository
from tests.support.autopilot_runs import AutopilotProject, run_git
from tests.support.parallel_runs import parallel_project

DEV = Action("dev-story", "1-3-sign-out", "", {"story_id": "1-3-sign-out"})

SECRETS = {
    "GH_TOKEN": "ghp_AAAAbbbbCCCCddddEEEEffffGGGGhhhh1234",
    "GITHUB_TOKEN": "github_pat_11ABCDEFG0abcdefghijkl_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij0123456789",
    "ANTHROPIC_API_KEY": "sk-ant-api03-Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4-AA",
    "DATABASE_PASSWORD": 'kitchen"sink/with\\odd+signs',
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY99",
}


def written(*folders: Path) -> bytes:
    return b"".join(path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file())


def forms(secret: str) -> list[bytes]:
    return [secret.encode(), json.dumps(secret)[1:-1].encode()]


def test_seeded_secrets_leave_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    tree, folder = init_repository(tmp_path / "tree"), tmp_path / "runs" / "attempt-1"
    every = "\n".join(SECRETS.values())
    code = (
        "import json, os, sys\nprompt = sys.stdin.read()\n"
        "print(prompt); print(json.dumps({'said': prompt, prompt: 1}))\n"
        "print(prompt, file=sys.stderr); print(json.dumps(dict(os.environ)))\nprint(prompt, end='')"
    )
    spec = CallSpec(uuid.uuid4().hex, "stub", "dev", "1-3", "-", str(tree), (), time.time())
    with claim_attempt(str(folder), spec.worktree) as claim:
        start_attempt(
            claim,
            spec,
            AgentCommand(("/usr/bin/env", "python3", "-c", code, *SECRETS.values()), stdin=every),
            environment=dict(os.environ),
            limits=TimeLimits(60, 0),
            prompt=every,
            secrets=environment_secrets(os.environ),
        )
    assert finish(folder).exit == 0
    data = written(folder, tree / ".git")
    assert b"[redacted" in data
    for name, secret in SECRETS.items():
        assert not any(form in data for form in forms(secret)), name


def test_an_agent_that_looks_for_our_keys_finds_none(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GH_TOKEN", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DATABASE_PASSWORD"):
        monkeypatch.setenv(name, SECRETS[name])
    config = home / ".gitconfig"
    config.write_text(
        f"[user]\nname = A\nemail = a@example.invalid\n"
        f'[credential]\nhelper = "!f() {{ echo username=x; echo password={SECRETS["GH_TOKEN"]}; }}; f"\n'
        f'[credential "https://github.com"]\nhelper = "!f() {{ echo password={SECRETS["GH_TOKEN"]}; }}; f"\n'
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    hosts = home / ".config" / "gh" / "hosts.yml"
    hosts.parent.mkdir(parents=True)
    hosts.write_text(f"github.com:\n  oauth_token: {SECRETS['GH_TOKEN']}\n")
    code = (
        "asked = subprocess.run(['git', 'credential', 'fill'], input='protocol=https\\nhost=github.com\\n\\n',"
        " text=True, capture_output=True)\n"
        "gh = os.environ['GH_CONFIG_DIR']\n"
        "open('found.json', 'w').write(json.dumps({'environment': dict(os.environ), 'credential': asked.stdout,"
        " 'gh': os.listdir(gh)}))\ntick()"
    )
    sample = project_with_agent(tmp_path / "project", code)
    assert dispatch_to_instance(DEV, "bmad-1-3", project=str(sample.root)).status == "success"
    found = json.loads((sample.root / "found.json").read_text())
    assert not {"GH_TOKEN", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "AWS_SECRET_ACCESS_KEY"} & found["environment"].keys()
    assert found["gh"] == []
    assert "password" not in found["credential"]
    told = json.dumps(found)
    assert not any(secret in told for secret in SECRETS.values())


# Runs the scripted agent, then puts what the file holds into the reviewer's summary.
LEAKING = """\
import glob, json, os, subprocess, sys
secrets = open(sys.argv[1]).read()
ran = subprocess.run(sys.argv[2:], input=sys.stdin.read(), text=True)
for path in glob.glob("_bmad-output/**/*.review.json", recursive=True):
    data = json.load(open(path))
    json.dump({**data, "summary": "Read: " + secrets}, open(path, "w"))
sys.exit(ran.returncode)
"""
# Copies of the project's own files, which are compared with them and put back byte by byte.
AS_THEY_ARE = ("board.before", "story.before", "spec.before", "settings.toml")


def leaking(folder: Path, delivery: str = "github") -> AutopilotProject:
    """A project whose story title, reviewer and checks all tell secrets."""
    folder.mkdir(exist_ok=True)
    said = "\n".join(["".join(parts) for parts in SHAPES.values()] + list(SECRETS.values()))
    (folder / "agent.py").write_text(LEAKING)
    (folder / "secrets.txt").write_text(said)
    agent = (
        sys.executable,
        str(folder / "agent.py"),
        str(folder / "secrets.txt"),
        *scripted_agent_command("picky"),
    )
    pilot = parallel_project(folder / "p", epics=1, agent=agent, top=f'delivery = "{delivery}"\n')
    settings = pilot.work / "bmad-autopilot.toml"
    check = f"cat {folder}/secrets.txt; "
    settings.write_text(settings.read_text().replace('test = ["', f'test = ["{check}'))
    epics = pilot.work / PLANNING / "epics.md"
    lines = epics.read_text().split("\n")
    title = f" {SECRETS['GH_TOKEN']} {''.join(SHAPES['url'])}"
    epics.write_text("\n".join(f"{line}{title}" if line.startswith("### Story") else line for line in lines))
    run_git(pilot.work, "commit", "--quiet", "--all", "--message", "Tell")
    run_git(pilot.work, "push", "--quiet", "origin", "main")
    return pilot


@pytest.mark.parametrize("delivery", ["github", "local"])
def test_what_reviewers_checks_and_titles_tell_leaves_in_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, delivery: str
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    pilot = leaking(tmp_path, delivery)
    flight = pilot.run()
    assert flight.end.merged == ("epic-1",), flight.end
    told = [run_git(folder, "log", "--all", "--format=%B") for folder in (pilot.work, pilot.refs.folder)]
    assert "Read: " in told[0]
    told += [json.dumps(dict(effect.data), default=str) for effect in pilot.model.effects.all]
    kept = [*(pilot.work / "_bmad-output" / ".runs").rglob("*"), *(pilot.work / ".autopilot").rglob("*")]
    files = [path for path in kept if path.is_file() and path.name not in AS_THEY_ARE]
    assert any(path.suffix == ".log" for path in files)
    told += [path.read_text(errors="replace") for path in files]
    found = {
        secret: where
        for secret in (*SECRETS.values(), *(parts[1] for parts in SHAPES.values()))
        for where, text in zip(["work", "hub", *range(len(told))], told, strict=False)
        if secret in text or json.dumps(secret)[1:-1] in text
    }
    assert found == {}
