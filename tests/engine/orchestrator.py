"""A small orchestrator to be killed: it takes story after story through one agent call each, deciding from facts.

`python -m tests.engine.orchestrator PROJECT [LINE]`; with LINE it kills itself before that line of ours is run."""

import os
import signal
import sys
from types import FrameType
from typing import Any

from bmad_autopilot.agents.adapter import Outcome
from bmad_autopilot.agents.attempt import read_call_spec
from bmad_autopilot.agents.verdicts import read_verdict
from bmad_autopilot.board.overview import load_sprint_status
from bmad_autopilot.core.next_action import Action
from bmad_autopilot.engine.python_api import dispatch_to_instance
from bmad_autopilot.runs.layout import find_attempts, runs_folder


def is_done(project: str, story: str) -> bool:
    for place in find_attempts(runs_folder(project)):
        verdict = read_verdict(place.folder)
        completed = verdict is not None and verdict.outcome is Outcome.COMPLETED
        if completed and read_call_spec(place.folder).story == story:
            return True
    return False


def main(project: str) -> None:
    for story in load_sprint_status(project).stories:
        while not is_done(project, story):
            action = Action("dev-story", story, "", {"story_id": story})
            dispatch_to_instance(action, f"bmad-{story}", project=project)


# Where a call is started, waited for and taken in.
_FILES = ("attempt", "start", "monitor", "verdicts")
_OURS = (
    "bmad_autopilot/engine/",
    "bmad_autopilot/runs/",
    *(f"bmad_autopilot/agents/{name}.py" for name in _FILES),
)


class Bomb:
    """Counts the lines of ours that are run from the first dispatch on."""

    def __init__(self, line: int) -> None:
        self.left = line

    def __call__(self, frame: FrameType, event: str, _: object) -> Any:
        if not any(part in frame.f_code.co_filename for part in _OURS):
            return None
        if event == "line":
            self.left -= 1
            if self.left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return self


if __name__ == "__main__":
    if len(sys.argv) > 2:
        sys.settrace(Bomb(int(sys.argv[2])))
    main(sys.argv[1])
