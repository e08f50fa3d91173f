"""Measures run directories. Run inside the installed environment; prints JSON, all figures in milliseconds.

`checkpoint`: one completed step: its output, its work tree under a ref, the durable journal entry and the state
files. `checkpoint_late`: the same after 10,000 journal lines. `resume`: from the interpreter's start to the first
decision of a run with 10,000 lines. `listing`: `bmad runs` over 1,000 runs. `answer`: from the start of
`bmad answer --resume` to the agent's start."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bmad_autopilot.core.journal_fold import fold
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.engine.ports import CheckpointOrder
from bmad_autopilot.engine.runner import read_lane, start_run
from bmad_autopilot.engine.state_files import StateFileWriter
from bmad_autopilot.engine.waiting import Waiter
from bmad_autopilot.engine.world import LaneContext, build_ports
from bmad_autopilot.project.project import Project, open_project
from bmad_autopilot.runs.journal import Journal, make_entry
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.sim.sample import make_sample, scripted_agent_command

LINES = 10_000
RUNS = 1_000
BMAD = (sys.executable, "-m", "bmad_autopilot")
_RESUME = """
import sys, time
began = time.perf_counter()
from bmad_autopilot.engine import loop
from bmad_autopilot.engine.resume import resume_run
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.index import find_run
from bmad_autopilot.runs.layout import runs_folder
class Decided(Exception): pass
def decide(facts):
    raise Decided
loop.decide = decide
project = open_project(sys.argv[1])
try:
    resume_run(project, find_run(runs_folder(sys.argv[1]), sys.argv[2]), on_event=lambda *rest: None)
except Decided:
    print((time.perf_counter() - began) * 1000)
"""


def main(folder: str, rounds: int) -> None:
    project, run = _half_done(f"{folder}/p")
    early = _checkpoints(project, run, rounds)
    _lengthen(run, LINES)
    late = _checkpoints(project, run, rounds)
    resumes = [_resume(project.root.path, os.path.basename(run)) for _ in range(max(3, rounds // 3))]
    answers = [_answer(f"{folder}/a{number}") for number in range(max(3, rounds // 4))]
    listing = _listing(f"{folder}/l", max(3, rounds // 3))
    figures = {"checkpoint": early, "checkpoint_late": late, "resume": resumes, "listing": listing}
    print(json.dumps({**figures, "answer": answers}))


def _half_done(folder: str) -> tuple[Project, str]:
    """A run that waits for an answer in the middle of a story."""
    make_sample(folder, 1, 2, agent_command=scripted_agent_command("asking"))
    end = start_run(open_project(folder), LaneScope.EPIC, "1", on_event=lambda *rest: None)
    assert end.status == "waiting", end
    return open_project(folder), end.folder


def _checkpoints(project: Project, run: str, rounds: int) -> list[float]:
    lane = read_lane(run)
    assert lane is not None
    journal = Journal(run, lambda value: value)
    keeper = StateFileWriter(project, lane, run)
    entries = [(entry.kind, entry.data, entry.at) for entry in journal.entries()]
    keeper.load(fold(entries), entries)
    ports = build_ports(project, lane, run, LaneContext(journal, Waiter(), keeper.on_event))
    listed = ports.board.rows()
    tree = ports.worktree.snapshot(next(iter(listed)))
    rows = {key: row.status.raw for key, row in listed.items()}
    story = next(key for key in rows if key.startswith("1-1"))
    times = []
    for number in range(1000, 1000 + rounds):
        order = CheckpointOrder(
            number, "dev", story, {"story": story}, rows, "An output.\n" * 40, tree.head, tree.branch, tree.tree
        )
        begun = time.perf_counter()
        made = ports.records.checkpoint(order)
        ports.records.note("accepted", {"story": story, "number": number, "step": "dev", "checkpoint": made})
        times.append((time.perf_counter() - begun) * 1000)
    journal.close()
    return times


def _lengthen(run: str, lines: int) -> None:
    """Insert earlier steps, each with its call, end and checkpoint, until the journal has this many lines."""
    journal = Journal(run, lambda value: value)
    entries = journal.entries()
    story = next(str(entry.data["story"]) for entry in entries if entry.kind == "story")
    accepted = next(entry.data for entry in entries if entry.kind == "accepted")
    written = [
        make_entry(entry.n, entry.at, entry.kind, entry.data, lambda value: value)[1] for entry in entries[:-1]
    ]
    n = entries[-2].n
    for number in range(100, 100 + (lines - len(entries)) // 4):
        of_step: tuple[tuple[str, Mapping[str, Any]], ...] = (
            ("step", {"story": story, "number": number, "step": "dev", "round": 1, "cause": ""}),
            ("call", {"story": story, "number": number, "step": "dev", "role": "dev", "attempt": 1}),
            ("ended", {"story": story, "number": number, "step": "dev", "attempt": 1, "finding": "good"}),
            ("accepted", {**accepted, "number": number, "checkpoint": {**accepted["checkpoint"], "step": number}}),
        )
        for kind, data in of_step:
            n += 1
            written.append(make_entry(n, entries[-1].at, kind, dict(data), lambda value: value)[1])
    Path(run, "journal.jsonl").write_bytes(b"".join(written))


def _resume(root: str, run: str) -> float:
    done = subprocess.run([sys.executable, "-c", _RESUME, root, run], check=True, capture_output=True, text=True)
    return float(done.stdout)


def _listing(folder: str, rounds: int) -> list[float]:
    _, run = _half_done(folder)
    parent = Path(runs_folder(folder), "main")
    for number in range(RUNS - 1):
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(1_750_000_000 + number * 61))
        copy = parent / f"epic-1-{stamp}"
        copy.mkdir()
        for name in ("state.json", "journal.jsonl"):  # with its own name, or it counts as another run's file
            text = Path(run, name).read_text()
            (copy / name).write_text(text.replace(os.path.basename(run), copy.name))
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        subprocess.run([*BMAD, "-C", folder, "runs"], check=True, capture_output=True)
        times.append((time.perf_counter() - begun) * 1000)
    return times


def _answer(folder: str) -> float:
    _, run = _half_done(folder)
    begun = time.time()
    subprocess.run([*BMAD, "-C", folder, "answer", "1-1", "1", "--resume"], capture_output=True, check=False)
    started = json.loads(Path(run, "steps/02-dev/attempt-2/result.json").read_text())["started_at"]
    return float((started - begun) * 1000)


if __name__ == "__main__":
    os.environ.setdefault("GIT_CONFIG_NOSYSTEM", "1")
    main(sys.argv[1], int(sys.argv[2]))
