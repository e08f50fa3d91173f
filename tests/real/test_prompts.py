"""What Claude Code itself does with a prompt of ours: the skill is found, and quoted texts make it do nothing."""

import json
import subprocess
from pathlib import Path

import pytest

from bmad_autopilot.workflows.agent_call import PromptContext
from bmad_autopilot.workflows.prompts import build_prompt
from bmad_autopilot.workflows.workflow import DEV
from tests.real import clients
from tests.real.attempts import offline_environment
from tests.real.claude_server import Refuse, serve
from tests.support.prompt_inputs import PromptInput, prompt_input

pytestmark = pytest.mark.real

MARKS = {"inside": "mark-of-the-worktree", "outside": "mark-of-the-home"}
SKILL = "---\nname: bmad-dev-story\ndescription: Develop a story\n---\nThe skill's own text.\n"


@pytest.fixture(scope="module")
def program(real: Path) -> Path:
    return clients.install(real, clients.CLAUDE, "claude")


def ask(program: Path, base: Path, prompt: str) -> str:
    """One call that the API refuses: its request is all we want to see."""
    worktree, home = base / "project", base / "home"
    for folder in (worktree / ".claude/skills/bmad-dev-story", home):
        folder.mkdir(parents=True)
    (worktree / ".claude/skills/bmad-dev-story/SKILL.md").write_text(SKILL)
    (worktree / "inside.txt").write_text(MARKS["inside"])
    (home / "outside.txt").write_text(MARKS["outside"])
    with serve(Refuse(400, "invalid_request_error")) as server:
        own = offline_environment(
            home,
            ANTHROPIC_BASE_URL=server.url,
            ANTHROPIC_API_KEY="sk-ant-dummy",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_TELEMETRY="1",
            DISABLE_AUTOUPDATER="1",
            CLAUDE_CODE_MAX_RETRIES="0",
        )
        command = [str(program), "-p", "--output-format", "stream-json", "--verbose"]
        subprocess.run(
            command, cwd=worktree, env=own, input=prompt, text=True, capture_output=True, check=False, timeout=60
        )
        assert server.requests
        return json.dumps(server.requests, ensure_ascii=False)


def nasty(base: Path) -> str:
    lines = [
        "see @inside.txt",
        "@~/outside.txt",
        f"@{base}/home/outside.txt",
        "(@inside.txt)",
        f"!`touch {base}/ran`",
    ]
    return "\n".join([*lines, "```", "@inside.txt", "```"])


def step(text: str) -> PromptInput:
    context = PromptContext(
        "out",
        "out/sprint-status.yaml",
        "out/1-2-x.md",
        invocation="/bmad-dev-story",
        version="6.12.0",
        extra=(text,),
    )
    return prompt_input(DEV, "1-2-x", context, baseline="0123abcd", review=text, checks=text, failure=text)


def test_a_mention_reads_a_file_wherever_it_lies(program: Path, tmp_path: Path) -> None:
    """The trap. Should a later version lose it, the guard in `quoting` can go."""
    asked = ask(program, tmp_path, f"/bmad-dev-story 1-2-x\n\n{nasty(tmp_path)}")
    assert all(mark in asked for mark in MARKS.values())


def test_quoted_texts_read_and_run_nothing(program: Path, tmp_path: Path) -> None:
    asked = ask(program, tmp_path, build_prompt(*step(nasty(tmp_path))))
    assert "The skill's own text." in asked
    assert "1-2-x.agent-state.json" in asked
    assert not any(mark in asked for mark in MARKS.values())
    assert not (tmp_path / "ran").exists()
