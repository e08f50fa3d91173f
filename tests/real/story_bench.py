"""A small project on a real BMAD install, its runs, and what a model can do in it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bmad_autopilot.board.sprint_status import read_board
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.engine.runner import start_run
from bmad_autopilot.project.project import open_project
from tests.real.claude_server import Refuse, Reply, Say, Use
from tests.real.played_run import MODEL, Part, Request, Turn, last_result, texts
from tests.real.story_pages import BOARD, EPICS, FOLDER, KEY
from tests.support.lane_projects import Person, RecordedRun

CACHED = (20_000, 1_500)  # tokens: most of a long conversation comes from the cache

# BMAD's scripts need nothing but Python; its skills call them by `uv run`.
UV = f'#!/bin/sh\n[ "$1" = run ] && shift\n[ "$1" = --no-cache ] && shift\nexec "{sys.executable}" "$@"\n'


RUNNER = """\
import sys
from bmad_autopilot import run_story_to_completion
run_story_to_completion(sys.argv[1], project=sys.argv[2])
"""


class Killed:
    """A run in a process of its own, killed while the model is about to say something."""

    process: "subprocess.Popen[bytes] | None" = None

    def run(self, root: Path) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", RUNNER, KEY, str(root)], stdout=subprocess.DEVNULL)
        try:
            assert self.process.wait(120) == -signal.SIGKILL
        finally:
            self.process.kill()

    def before(self, turn: Turn) -> Turn:
        def reply(body: Request) -> Reply:
            assert self.process is not None
            self.process.kill()
            self.process.wait(10)
            return turn(body) if callable(turn) else turn

        return reply


class StoryBench:
    def __init__(self, root: Path, install: Path) -> None:
        self.root = root
        shutil.copytree(install, root)
        self.write(f"{FOLDER}/sprint-status.yaml", BOARD)
        self.write("_bmad-output/planning-artifacts/epics.md", EPICS)
        self.write("package.json", json.dumps({"name": "greeter", "scripts": {"test": "node --test"}}))
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-qm", "Plan it")

    def git(self, *arguments: str) -> str:
        command = ["git", "-C", str(self.root), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.strip()

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def rows(self) -> dict[str, str]:
        board = read_board(str(self.root / FOLDER / "sprint-status.yaml"))
        return {key: row.status.raw for key, row in board.rows.items()}

    def run(self, person: Person | None = None) -> RecordedRun:
        """To its end; what is told of it is what its journal holds, whoever wrote that."""
        end = start_run(open_project(str(self.root)), LaneScope.STORY, KEY, on_event=lambda *_: None, human=person)
        lines = (Path(end.folder) / "journal.jsonl").read_text().splitlines()
        return RecordedRun(end, [(entry["kind"], entry["data"]) for entry in map(json.loads, lines)])

    # -- what the model says

    def path(self, name: str) -> str:
        return str(self.root / name)

    def skill_text(self, name: str) -> str:
        return (self.root / f".claude/skills/bmad-{name}/SKILL.md").read_text().split("---\n", 2)[2].strip()

    def part(self, skill: str | None, *turns: Turn, told: tuple[str, ...] = ()) -> Part:
        """None: a step with a prompt of our own."""
        expanded = (self.skill_text(skill),) if skill else ()
        return Part((*expanded, "You work unattended", KEY, *told), turns)

    def read(self, name: str) -> Use:
        return Use("Read", {"file_path": self.path(name)}, cached=CACHED)

    def put(self, name: str, text: str) -> Use:
        return Use("Write", {"file_path": self.path(name), "content": text}, tokens=(300, 700), cached=CACHED)

    def edit(self, name: str, old: str, new: str) -> Use:
        return Use("Edit", {"file_path": self.path(name), "old_string": old, "new_string": new}, cached=CACHED)

    def row(self, old: str, new: str) -> tuple[Use, Use]:
        board = f"{FOLDER}/sprint-status.yaml"
        return self.read(board), self.edit(board, f"{KEY}: {old}", f"{KEY}: {new}")

    def resolve(self, skill: str) -> Use:
        """How the skills of 6.12 begin."""
        root = self.root
        script, folder = root / "_bmad/scripts/resolve_customization.py", root / f".claude/skills/bmad-{skill}"
        return bash(f"uv run {script} --skill {folder} --project-root {root} --key workflow")

    def render(self) -> Use:
        root = self.root
        script, folder = root / "_bmad/scripts/render_skill.py", root / ".claude/skills/bmad-build-auto"
        return bash(f'uv run --no-cache "{script}" --project-root "{root}" --skill "{folder}"')

    def verdict(self, result: str, summary: str) -> Use:
        return self.put(f"{FOLDER}/{KEY}.review.json", json.dumps({"reviewResult": result, "summary": summary}))

    def question(self, text: str, options: list[str]) -> Use:
        state = {
            "storyKey": KEY,
            "phase": "dev",
            "lastCompletedStep": "the skill is rendered",
            "blockedAt": "clarifying the intent",
            "blockReason": "critical_decision",
            "questions": [{"id": "q1", "question": text, "context": "", "options": options, "answer": None}],
            "artifactsProduced": [],
        }
        return self.put(f"{FOLDER}/{KEY}.agent-state.json", json.dumps(state))


def bash(command: str) -> Use:
    return Use("Bash", {"command": command, "description": "scripted"}, cached=CACHED)


def subagent(prompt: str, report: str) -> tuple[Use, Say]:
    """A reviewer of the skill's own: it has a conversation, and a bill, within the call."""
    asked = {"description": "a layer", "prompt": prompt, "subagent_type": "general-purpose"}
    return Use("Agent", asked, cached=CACHED), Say(report, tokens=(4000, 250))


def keep_diff(body: Request) -> Use:
    """Reviewers read a diff from a temporary file: it goes where the prompt says."""
    said = texts(body)
    scratch, baseline = _only(r"Temporary files go into `([^`]+)`", said), _only(r"changed since: `(\w+)`", said)
    return bash(f"git diff {baseline} > {scratch}/story.diff")


def read_diff(body: Request) -> Use:
    scratch = _only(r"Temporary files go into `([^`]+)`", texts(body))
    return Use("Read", {"file_path": f"{scratch}/story.diff"}, cached=CACHED)


def _only(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else "/nowhere"


def read_printed_path(body: Request) -> Use:
    """The workflow that BMAD's renderer has named."""
    return Use("Read", {"file_path": _only(r"read and follow (/[\w/.-]+)", last_result(body))}, cached=CACHED)


def limit(seconds: float, met: list[float]) -> Turn:
    """A subscription's limit, refused from now on for that long; when it resets is put into `met`."""

    def refuse(body: Request) -> Refuse:
        met.append(float(int(time.time() + seconds)))
        prefix = "anthropic-ratelimit-unified"
        headers = {"status": "rejected", "reset": f"{met[-1]:.0f}", "representative-claim": "five_hour"}
        return Refuse(
            429, "rate_limit_error", "limit", {f"{prefix}-{name}": value for name, value in headers.items()}
        )

    return refuse


def use_client(program: Path, tools: Path, patch: pytest.MonkeyPatch) -> None:
    """Claude Code as a user has it: on PATH, with a login; and `uv` beside it."""
    tools.mkdir()
    (tools / "uv").write_text(UV)
    (tools / "uv").chmod(0o755)
    patch.setenv("PATH", os.pathsep.join([str(program.parent), str(tools), os.environ["PATH"]]))
    for name, value in {
        "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-dummy",
        "ANTHROPIC_MODEL": MODEL,
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
    }.items():
        patch.setenv(name, value)
