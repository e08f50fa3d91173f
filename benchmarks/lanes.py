"""Measures the loop's overhead. Run inside the installed environment; prints JSON.

`calls`: for each agent call of an epic, the milliseconds between the end of the previous one and its own end,
without the agent's time and the project's checks. `wakes`: milliseconds from a write to the board to the next
observation. `cpu`: of the supervisor while an agent works, in percent. `epics`: seconds for a thousand simulated
epics with crashes."""

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.engine import loop as engine_loop
from bmad_autopilot.engine.runner import start_run
from bmad_autopilot.project.project import open_project
from bmad_autopilot.sim.sample import make_sample, scripted_agent_command
from bmad_autopilot.sim.simulate import simulate

CPU_SECONDS = 8.0
WAKES = 40
WORLDS, EPICS = 30, 3


def main(folder: str, stories: int) -> None:
    figures = {"calls": _calls(f"{folder}/epic", stories), **_waiting(f"{folder}/slow"), "epics": [_epics()]}
    print(json.dumps(figures))


def _calls(folder: str, stories: int) -> list[float]:
    make_sample(folder, 1, stories, agent_command=scripted_agent_command())
    spent, found, since = 0.0, [], 0.0

    def on_event(kind: str, data: Mapping[str, Any], at: float) -> None:
        nonlocal spent, since
        if kind == "check":
            spent += sum(seconds for _, _, seconds in data["ran"])
        if kind == "ended":
            if since:
                found.append((at - since - spent - data["seconds"]) * 1000)
            since, spent = at, 0.0

    end = start_run(open_project(folder), LaneScope.EPIC, "1", on_event=on_event)
    assert end.status == "completed", end
    return found


def _waiting(folder: str) -> dict[str, list[float]]:
    """Writes to the board while an agent works, as a person would."""
    make_sample(folder, 1, 1, agent_command=scripted_agent_command(seconds=CPU_SECONDS + WAKES * 0.1 + 3))
    looks: list[float] = []
    observe = vars(engine_loop)["observe"]

    def looked(*arguments: Any) -> Any:
        looks.append(time.perf_counter())
        return observe(*arguments)

    vars(engine_loop)["observe"] = looked
    project = open_project(folder)
    wakes: list[float] = []
    cpu: list[float] = []
    done = threading.Event()

    def person() -> None:
        time.sleep(1.5)
        board = project.require_board()
        with open(board, "ab") as file:
            for _ in range(WAKES):
                time.sleep(0.1)
                written = time.perf_counter()
                file.write(b"# touched\n")
                file.flush()
                while not (looks and looks[-1] > written):
                    time.sleep(0.0005)
                wakes.append((looks[-1] - written) * 1000)
        time.sleep(0.5)
        before, begun = time.process_time(), time.perf_counter()
        time.sleep(CPU_SECONDS / 2)
        cpu.append((time.process_time() - before) / (time.perf_counter() - begun) * 100)
        done.set()

    threading.Thread(target=person, daemon=True).start()

    def on_event(kind: str, data: Mapping[str, Any], at: float) -> None:
        if done.is_set():
            raise _Enough

    with suppress(_Enough):
        start_run(project, LaneScope.STEP, "1-1", on_event=on_event)
    return {"wakes": wakes, "cpu": cpu}


def _epics() -> float:
    begun = time.perf_counter()
    worlds = [simulate(seed) for seed in range(WORLDS)]
    assert not any(world.broken for world in worlds)
    return (time.perf_counter() - begun) / (WORLDS * EPICS) * 1000


class _Enough(Exception):
    """Ends the run once the measurement is complete."""


if __name__ == "__main__":
    os.environ.setdefault("GIT_CONFIG_NOSYSTEM", "1")
    main(sys.argv[1], int(sys.argv[2]))
