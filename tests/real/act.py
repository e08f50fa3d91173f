"""The auto-approve workflow, run by act on this machine, with a gh that finds its GitHub behind a unix socket."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bmad_autopilot.github.approval import COPILOT, Rules
from bmad_autopilot.github.auto_approve import WORKFLOW_PATH, auto_approve_files
from bmad_autopilot.github.gate_runner import Pace

REPOSITORY = "acme/widgets"
TOKEN = "none"
RULES = Rules(min_age=2.0, grace=1.0)
PACE = Pace(poll=0.2, most_looks=25)

Run = Callable[..., str]


def find_tools(real: Path) -> Path:
    found = real / "tools" / "bin"
    missing = [name for name in ("act", "gh", "zizmor") if not (found / name).exists()]
    if missing:
        pytest.skip(f"no {', '.join(missing)} below BMAD_REAL; run `make tools`")
    return found


def make_repo(folder: Path) -> Path:
    """A repository with both files, as after `bmad init --github`, at a test's pace."""
    for file in auto_approve_files(RULES, PACE):
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text)
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    for words in (
        ["init", "-q", "-b", "main"],
        ["remote", "add", "origin", f"git@github.com:{REPOSITORY}.git"],
        [*identity, "commit", "-q", "--allow-empty", "-m", "x"],
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


def act(
    tools: Path,
    repo: Path,
    socket: Path,
    *,
    number: int = 7,
    by: str = f"{COPILOT}[bot]",
    attempt: str = "",
    code: int = 0,
) -> str:
    """Run the workflow once, for a review of `by`, or by hand with `attempt`; its log."""
    event: dict[str, object] = {"repository": {"default_branch": "main", "full_name": REPOSITORY}}
    if attempt:
        event["inputs"] = {"pr_number": str(number), "attempt": attempt}
    else:
        event |= {"action": "submitted", "review": {"user": {"login": by}}, "pull_request": {"number": number}}
    room = repo.parent / "act"
    for name in ("gh", "home", "tmp"):
        (room / name).mkdir(parents=True, exist_ok=True)
    (room / "event.json").write_text(json.dumps(event))
    (room / "gh" / "config.yml").write_text(f"version: 1\nhttp_unix_socket: {socket}\nprompt: disabled\n")
    # act calls every run the first, and a simulated GitHub may have a run of that number.
    inside = {"GH_CONFIG_DIR": room / "gh", "GH_TELEMETRY": "0", "GITHUB_RUN_ID": "999999"}
    done = subprocess.run(
        [
            *(tools / "act", "workflow_dispatch" if attempt else "pull_request_review"),
            *("-P", "ubuntu-latest=-self-hosted", "--action-offline-mode", "-W", WORKFLOW_PATH),
            *("-e", room / "event.json", "-s", f"GITHUB_TOKEN={TOKEN}"),
            *(word for name, value in inside.items() for word in ("--env", f"{name}={value}")),
        ],
        cwd=repo,
        env={"PATH": f"{tools}:{os.environ['PATH']}", "HOME": f"{room}/home", "TMPDIR": f"{room}/tmp"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout
