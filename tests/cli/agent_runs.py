"""Projects with agent calls in them: real attempts of stub agents, where runs lie."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bmad_autopilot.agents import monitor
from bmad_autopilot.agents.attempt import AttemptState, attempt_state, read_call_spec, write_call_spec
from bmad_autopilot.project.git_excludes import ensure_excludes
from bmad_autopilot.project.root import find_root
from bmad_autopilot.runs.layout import runs_folder
from tests.support.agent_stubs import TIMEOUT, begin, finish, wait_until
from tests.support.bmad_project import ProjectMaker, SampleProject

RUN = "dev-story-20260101-120000"
NAME = f"{RUN}/01-dev/1"

CONFIG = """\
[agents.stub]
command = ["stub"]
"""

# What Claude Code prints: its tool, its words, and how it went.
CLAUDE = [
    {"type": "system", "subtype": "init", "claude_code_version": "2.1.325", "model": "opus", "session_id": "s-1"},
    {
        "type": "assistant",
        "message": {
            "content": [
                {"type": "text", "text": "I look at the story first.\nThen I write the test."},
                {"type": "tool_use", "name": "Bash", "input": {"command": "npm test -- --run " + "x" * 60}},
            ]
        },
    },
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
        "num_turns": 2,
        "duration_ms": 1200,
        "total_cost_usd": 0.0421,
        "result": "Done.",
        "session_id": "s-1",
        "usage": {"input_tokens": 1200, "output_tokens": 80, "cache_read_input_tokens": 34},
    },
]
ENDS_WELL = f"import sys\nfor line in {[json.dumps(one) for one in CLAUDE]!r}: print(line, flush=True)"
WAITS = (
    "import os, time\nprint('ready', flush=True)\n"
    "while not os.path.exists('go'): time.sleep(0.01)\nprint('went on', flush=True)"
)


def project_with_stub(project: ProjectMaker) -> SampleProject:
    sample = project()
    sample.write("bmad-autopilot.toml", CONFIG)
    sample.commit()
    ensure_excludes(find_root(str(sample.root)))
    return sample


def attempt_of(sample: SampleProject, run: str = RUN, step: str = "01-dev", number: int = 1) -> Path:
    folder = Path(runs_folder(str(sample.root))) / "main" / run / "steps" / step / f"attempt-{number}"
    folder.mkdir(parents=True)
    return folder


def call(sample: SampleProject, code: str, folder: Path | None = None, **told: object) -> Path:
    """A call that has ended. `told`: what its spec says in place of the stub's."""
    folder = folder or attempt_of(sample)
    begin(folder, sample.root, code)
    finish(folder)
    if told:
        write_call_spec(str(folder), replace(read_call_spec(str(folder)), **told))  # type: ignore[arg-type]
    return folder


@contextmanager
def under_way(sample: SampleProject, code: str = WAITS, folder: Path | None = None) -> Iterator[Path]:
    """A call that runs and has said something; it is ended at the end."""
    folder = folder or attempt_of(sample)
    begin(folder, sample.root, code)
    try:
        events = folder / "events.jsonl"
        wait_until(lambda: events.exists() and events.stat().st_size, "its first word")
        yield folder
    finally:
        if attempt_state(str(folder)) is AttemptState.RUNNING:
            monitor.cancel_attempt(str(folder), "the test is over")
            monitor.wait_for_any([str(folder)], TIMEOUT)
        finish(folder) if attempt_state(str(folder)) is not AttemptState.LOST else None


def steady(text: str) -> str:
    """Without what differs from run to run: times, ids, folders."""
    text = re.sub(r"^ *\d+\.\ds  ", "    0.0s  ", text, flags=re.M)
    text = re.sub(r"\d+\.\d s\b", "0.0 s", text)
    text = re.sub(r"\b\d+ s\b", "0 s", text).replace("0.0 s", "0.1 s")
    text = re.sub(r"attempts/[0-9a-f]{32}", "attempts/ID", text)
    return re.sub(rf"{re.escape(os.sep)}[^ \n]*/project\b", "/project", text)
